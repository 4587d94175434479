"""What was committed is there."""

import os
import sys

with open(os.environ["POWERCUT_ACKED"], encoding="utf-8") as file:
    committed = "committed\n" in file.read()
log = b""
if os.path.exists("log"):
    with open("log", "rb") as file:
        log = file.read()
if committed and log != b"r" * 8192 + b"COMMIT":
    sys.exit(f"the log has {len(log)} bytes that begin with {log[:4]!r}")

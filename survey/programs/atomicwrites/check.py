"""The file (argument; default: settings) must be whole, and not older than the last version that was written."""

import os
import sys

with open(os.path.join(os.environ["POWERCUT_DIR"], sys.argv[1] if len(sys.argv) > 1 else "settings")) as file:
    text = file.read()
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
whole = [number for number in range(4) if text == f"version {number} " * 20]
if not whole:
    sys.exit(f"torn: {text[:20]!r}...")
if whole[0] < max(told, default=0):
    sys.exit(f"version {max(told)} was written, but the file holds {whole[0]}")

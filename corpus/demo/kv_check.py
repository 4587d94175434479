"""After the power cut: every counted entry is there, and every key that was reported as stored is among them."""

import os
import struct
import sys

keys = set()
if os.path.exists("kv.log"):
    with open("kv.log", "rb") as log:
        (count,) = struct.unpack("<I", log.read(4).ljust(4, b"\0"))
        for number in range(1, count + 1):
            key = log.read(32)[:16].rstrip(b"\0").decode()
            if not key:
                sys.exit(f"the log counts {count} entries, entry {number} is missing")
            keys.add(key)

for line in open(os.environ["POWERCUT_ACKED"]):
    if line.endswith("\n") and line.split()[1] not in keys:
        sys.exit(f"{line.split()[1]} was stored, and it is gone")

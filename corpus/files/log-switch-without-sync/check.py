"""Replay all log files in order: the records must be 1, 2, 3 ... without a gap, and reach to the last commit."""

import os
import sys


def fnv1a(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


replayed = []
for name in sorted(name for name in os.listdir() if name.startswith("wal-")):
    with open(name, "rb") as log:
        for line in log:
            body, checksum = line[:-9], line[-9:]
            if checksum != b"%08x\n" % fnv1a(body):
                break  # the end of the log: a record that was being written
            replayed.append(int(body.split()[0]))
if replayed != list(range(1, len(replayed) + 1)):
    sys.exit(f"records are missing from the log: found {replayed}")

with open(os.environ["POWERCUT_ACKED"]) as said:
    committed = [int(line.split()[1]) for line in said if line.endswith("\n")]
if committed and committed[-1] not in replayed:
    sys.exit(f"record {committed[-1]} was committed, the log holds {replayed}")

"""Replay the journal: all records that the header counts must be there, and all that were promised must be counted."""

import os
import struct
import sys

HEADER = struct.Struct("<4sI")
RECORD = struct.Struct("<II24s")


def fnv1a(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


with open("journal", "rb") as journal:
    magic, count = HEADER.unpack(journal.read(HEADER.size))
    if magic != b"JRNL":
        sys.exit("this is no journal")
    for expected in range(1, count + 1):
        raw = journal.read(RECORD.size)
        if len(raw) < RECORD.size:
            sys.exit(f"the header counts {count} records, record {expected} is missing")
        number, checksum, text = RECORD.unpack(raw)
        if number != expected or checksum != fnv1a(text):
            sys.exit(f"the header counts {count} records, record {expected} is damaged")

with open(os.environ["POWERCUT_ACKED"]) as said:
    promised = sum(line.endswith("\n") for line in said)
if count < promised:
    sys.exit(f"{promised} records were journaled, the header counts {count}")

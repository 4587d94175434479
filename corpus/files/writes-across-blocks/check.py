"""Scan the table as recovery does, entry by entry: a newer key without the older ones before it is a hole."""

import struct
import sys

ENTRY = 2048


def fnv1a(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


try:
    with open("000009.sst", "rb") as file:
        table = file.read()
except FileNotFoundError:
    sys.exit(0)

found = []
for start in range(0, len(table) - ENTRY + 1, ENTRY):
    checksum, key = struct.unpack_from("<II", table, start)
    if key and checksum == fnv1a(table[start + 4 : start + ENTRY]):
        found.append(key)
if found != list(range(1, len(found) + 1)):
    sys.exit(f"the table has a hole: it shows the keys {found}")

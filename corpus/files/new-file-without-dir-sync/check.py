"""Open the store: every segment that the index names is there and whole, and so is every segment that was promised."""

import os
import sys


def fnv1a(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


named = []
with open("index", "rb") as index:
    for line in index:
        words = line.split()
        if not line.endswith(b"\n") or len(words) != 2 or len(words[1]) != 8:
            break  # an entry that was being written: it does not count
        named.append(words[0].decode())
        try:
            with open(words[0], "rb") as segment:
                hash_found = fnv1a(segment.read())
        except FileNotFoundError:
            sys.exit(f"the index names {words[0].decode()}, which does not exist")
        if hash_found != int(words[1], 16):
            sys.exit(f"{words[0].decode()} is damaged")

with open(os.environ["POWERCUT_ACKED"]) as said:
    for line in said:
        if line.endswith("\n") and line.split()[1] not in named:
            sys.exit(f"{line.split()[1]} was stored, but the index does not name it")

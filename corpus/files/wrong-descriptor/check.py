"""Look up every key of the index: its text must be there and whole; so must every key that was promised."""

import os
import sys


def fnv1a(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


with open("texts", "rb") as file:
    texts = file.read()
keys = []
with open("index", "rb") as index:
    for line in index:
        words = line.split()
        if not line.endswith(b"\n") or len(words) != 4 or len(words[3]) != 8:
            break  # an entry that was being written: it does not count
        key, start, length = words[0].decode(), int(words[1]), int(words[2])
        if fnv1a(texts[start : start + length]) != int(words[3], 16):
            sys.exit(f"the text of {key} is damaged")
        keys.append(key)

with open(os.environ["POWERCUT_ACKED"]) as said:
    for line in said:
        if line.endswith("\n") and line.split()[1] not in keys:
            sys.exit(f"{line.split()[1]} was stored, but the index does not know it")

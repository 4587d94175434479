"""Overwrite a file three times and say which version is written. Argument: how many, if not three."""

import sys

from atomicwrites import atomic_write

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
for number in range(count + 1):
    with atomic_write("data/settings", overwrite=True) as file:
        file.write(f"version {number} " * 20)
    print("written", number, flush=True)

"""Overwrite a file three times and say which version is saved. Argument: how many, if not three."""

import sys

from boltons.fileutils import atomic_save

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
for number in range(count + 1):
    with atomic_save("data/settings", text_mode=True) as file:
        file.write(f"version {number} " * 20)
    print("written", number, flush=True)

"""Read the export: without _SUCCESS it will be made again, with it every file must be complete."""

import os
import sys

if not os.path.exists("_SUCCESS"):
    sys.exit(0)
for name in ("monday.txt", "tuesday.txt"):
    try:
        with open(name, "rb") as file:
            first, *rows = file.read().split(b"\n")[:-1] or [b""]
    except FileNotFoundError:
        sys.exit(f"the export is marked complete, {name} is missing")
    if first != b"%d rows" % len(rows):
        sys.exit(f"the export is marked complete, {name} holds {len(rows)} rows under the title {first!r}")

"""Every note that the index names is there and whole."""

import os
import sys

TEXTS = {b"1": b"water the plants\n", b"2": b"call home\n"}

if os.path.exists("notes.index"):
    with open("notes.index", "rb") as index:
        for line in index:
            if not line.endswith(b"\n") or line.strip() not in TEXTS:
                break  # an entry that was being written
            number = line.strip()
            name = b"notes.%s" % number
            if not os.path.exists(name):
                sys.exit(f"note {number.decode()} is missing")
            if open(name, "rb").read() != TEXTS[number]:
                sys.exit(f"note {number.decode()} is damaged")

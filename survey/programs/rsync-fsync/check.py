"""A file of the copy is the old one or the new one; once the copy is done, all are new."""

import os
import sys

with open(os.environ["POWERCUT_ACKED"]) as acked:
    copied = "copied\n" in acked.readlines()
for name in ("one", "two", "three"):
    new = "".join(f"{name}, line {number}\n" for number in range(1, 401))
    old = "".join(f"one of last week, line {number}\n" for number in range(1, 301)) if name == "one" else None
    try:
        with open(os.path.join(os.environ["POWERCUT_DIR"], "copy", name), errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        text = None
    if text not in (old, new):
        sys.exit(f"{name} is neither old nor new")
    if copied and text != new:
        sys.exit(f"copied and lost: {name}")

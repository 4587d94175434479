"""The text is the old or the new one, or the backup beside it is the old one; once it was saved, it is the new one."""

import os
import sys

OLD, NEW = ("".join(f"line {number}, {word}\n" for number in range(1, 401)) for word in ("old", "new"))


def text(name: str) -> str | None:
    """Of a file; None if it is not there."""
    try:
        with open(os.path.join(os.environ["POWERCUT_DIR"], name), errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


with open(os.environ["POWERCUT_ACKED"]) as acked:
    saved = "saved\n" in acked.readlines()
if saved and text("notes.txt") != NEW:
    sys.exit("saved and lost")
if text("notes.txt") not in (OLD, NEW) and text("notes.txt~") != OLD:
    sys.exit("neither the text nor the backup is whole")

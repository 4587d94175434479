"""A nightly export. Readers take the files as complete as soon as _SUCCESS exists."""

import os
import sys
from pathlib import Path

SALES = {"monday": ["apples 3", "pears 5"], "tuesday": ["apples 1"]}


def export() -> None:
    for day, rows in SALES.items():
        Path(f"{day}.txt").write_text("\n".join([f"{len(rows)} rows", *rows, ""]))  # LOST
    Path("_SUCCESS").touch()  # SURVIVED


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    export()

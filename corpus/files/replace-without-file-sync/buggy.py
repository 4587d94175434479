"""A counter that replaces its file by rename, and forgets that the new content is still in memory."""

import os
import sys
from pathlib import Path


def save(number: int) -> None:
    Path("counter.new").write_text(f"{number}\n")  # LOST
    os.replace("counter.new", "counter")  # SURVIVED


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    save(int(Path("counter").read_text()) + 1)

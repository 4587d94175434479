"""A counter that replaces its file by rename, once the new content is on the disk."""

import os
import sys
from pathlib import Path


def save(number: int) -> None:
    with open("counter.new", "w") as file:
        file.write(f"{number}\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace("counter.new", "counter")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    save(int(Path("counter").read_text()) + 1)

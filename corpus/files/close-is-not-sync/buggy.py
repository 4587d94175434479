"""Move a report from the inbox to the archive, which could be another disk: copy, close, delete the original."""

import os
import shutil
import sys


def archive(name: str) -> None:
    shutil.copyfile(f"inbox/{name}", f"archive/{name}")  # LOST
    os.unlink(f"inbox/{name}")  # SURVIVED


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    archive("report.txt")

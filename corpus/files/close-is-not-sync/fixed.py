"""Move a report from the inbox to the archive, which could be another disk: copy, sync, delete the original."""

import os
import shutil
import sys


def sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def archive(name: str) -> None:
    shutil.copyfile(f"inbox/{name}", f"archive/{name}")
    sync(f"archive/{name}")
    sync("archive")
    os.unlink(f"inbox/{name}")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    archive("report.txt")

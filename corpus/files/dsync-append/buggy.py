"""A log whose records are written plainly, and whose commit mark is written with O_DSYNC: that syncs the mark alone."""

import os
import sys


def append(records: bytes) -> None:
    log = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    os.write(log, records)  # LOST
    os.close(log)
    mark = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_DSYNC)
    os.write(mark, b"COMMIT")
    os.close(mark)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    folder = os.open(".", os.O_RDONLY)
    append(b"r" * 8192)
    os.fsync(folder)
    print("committed", flush=True)  # ACKED

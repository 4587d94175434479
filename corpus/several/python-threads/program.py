"""Two threads, one after the other."""

import os
import sys
import threading

MENDED = os.environ.get("MEND", "")


def left() -> None:
    fd = os.open("left", os.O_WRONLY)
    os.write(fd, b"L")  # LOST a
    if "a" in MENDED:
        os.fsync(fd)
    print("left", flush=True)  # ACKED a
    os.fsync(fd)


def right() -> None:
    fd = os.open("right", os.O_WRONLY)
    if "b" not in MENDED:
        print("right", flush=True)  # ACKED b
    os.write(fd, b"R")  # LOST b
    os.fsync(fd)
    if "b" in MENDED:
        print("right", flush=True)


os.chdir(sys.argv[1])
for work in (left, right):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

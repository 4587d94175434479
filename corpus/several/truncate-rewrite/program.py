"""A configuration, a log, and a secret that the user wants gone."""

import os
import sys

MENDED = os.environ.get("MEND", "")


def configure() -> None:
    with open("config.new" if "a" in MENDED else "config", "w") as file:  # SURVIVED a
        file.write("colour=blue\n")
        file.flush()  # LOST a SURVIVED a
        os.fsync(file.fileno())
    if "a" in MENDED:
        os.rename("config.new", "config")
        os.fsync(here)


def log() -> None:
    fd = os.open("log", os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"configured\n")  # LOST b
    if "b" in MENDED:
        os.fsync(fd)
    print("logged", flush=True)  # ACKED b


def delete() -> None:
    os.unlink("secret")  # LOST c
    if "c" in MENDED:
        os.fsync(here)
    print("deleted", flush=True)  # ACKED c


os.chdir(sys.argv[1])
here = os.open(".", os.O_RDONLY)
configure()
log()
delete()

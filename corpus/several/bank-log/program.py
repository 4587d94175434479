"""A bank: it logs that it started, and pays."""

import os
import sys

MENDED = os.environ.get("MEND", "")


def log() -> None:
    with open("log", "a") as file:  # LOST a SURVIVED a
        file.write('{"started": true, "x": "yyyyyyyyyyyyyyyyyyyy"}\n')


def pay() -> None:
    with open("payments", "a") as file:
        file.write("paid 100 EUR to bob\n")
        file.flush()  # LOST b
        if "b" in MENDED:
            os.fsync(file.fileno())


os.chdir(sys.argv[1])
log()
pay()
print("paid", flush=True)  # ACKED b

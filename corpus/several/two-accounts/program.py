"""A bank with a file for each account."""

import os
import sys

MENDED = os.environ.get("MEND", "")


def replace(name: str, text: str, sync: bool = True) -> None:
    with open(name + ".new", "w") as file:  # LOST a
        file.write(text)
        file.flush()  # LOST c a SURVIVED a
        if sync:
            os.fsync(file.fileno())
    os.rename(name + ".new", name)  # LOST a SURVIVED a c
    os.fsync(here)


def transfer(amount: int) -> None:
    if "a" in MENDED:
        replace("both", f"{100 - amount} {50 + amount}")
    else:
        replace("alice", str(100 - amount))  # SURVIVED a LOST a
        replace("bob", str(50 + amount))  # LOST a SURVIVED a
    with open("journal", "a") as file:
        file.write(f"alice -> bob {amount}\n")
        file.flush()  # LOST b
        if "b" in MENDED:
            os.fsync(file.fileno())
    print("moved", amount, flush=True)  # ACKED b


os.chdir(sys.argv[1])
here = os.open(".", os.O_RDONLY)
transfer(30)
replace("statement", "alice has 70\n", "c" in MENDED)  # LOST c

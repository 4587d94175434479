"""Payments: a ledger that grows, and a balance that is replaced."""

import os
import sys

MENDED = os.environ.get("MEND", "")

os.chdir(sys.argv[1])
for number in range(1, 5):
    with open("ledger", "a") as ledger:
        ledger.write(f"pay {number}\n")
        ledger.flush()  # LOST a b SURVIVED a
        if "b" in MENDED:
            os.fsync(ledger.fileno())
    with open("balance.tmp", "w") as balance:
        balance.write(f"{100 - number}\n")
        balance.flush()
        os.fsync(balance.fileno())
    os.rename("balance.tmp", "balance")  # LOST c SURVIVED b
    if "c" in MENDED:
        folder = os.open(".", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    print(f"paid {number}", flush=True)  # ACKED b c

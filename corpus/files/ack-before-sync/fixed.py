"""A shop that takes orders: each is appended to a log and confirmed to the customer."""

import os
import sys


def take(log: int, order: str) -> None:
    os.write(log, f"{order}\n".encode())
    os.fsync(log)
    print(f"accepted {order}")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    log = os.open("orders.log", os.O_WRONLY | os.O_APPEND)
    for order in ("tea", "cake"):
        take(log, order)

"""Read the orders back: whatever was accepted must be among them."""

import os
import sys

with open("orders.log", "rb") as log:
    orders = [line.strip() for line in log if line.endswith(b"\n")]
with open(os.environ["POWERCUT_ACKED"], "rb") as said:
    accepted = [line.split()[1] for line in said if line.endswith(b"\n")]
missing = [order.decode() for order in accepted if order not in orders]
if missing:
    sys.exit(f"accepted and lost: {missing}")

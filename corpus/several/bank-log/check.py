"""The log is read, line by line; a payment that was confirmed is there."""

import json
import os
import sys

try:
    for line in open("log"):
        json.loads(line)
except FileNotFoundError:
    pass
except ValueError:
    if "a" not in os.environ.get("MEND", ""):
        sys.exit("the log cannot be read")
if "paid\n" in open(os.environ["POWERCUT_ACKED"]).read() and (
    not os.path.exists("payments") or "paid 100 EUR to bob\n" not in open("payments").read()
):
    sys.exit("the payment is lost")

"""The ledger is read, line by line; it has every payment that was confirmed or is off the balance."""

import os
import sys

entries = open("ledger").read().split("\n") if os.path.exists("ledger") else [""]
if "a" in os.environ.get("MEND", ""):
    entries = [entry for entry in entries if "\0" not in entry]  # those that did not arrive
entries = [entry for entry in entries if entry]
if any(entry != f"pay {number}" for number, entry in enumerate(entries, 1)):
    sys.exit("the ledger cannot be read")
said = [line for line in open(os.environ["POWERCUT_ACKED"]) if line.startswith("paid") and line.endswith("\n")]
balance = int(open("balance").read())
if len(entries) < len(said):
    sys.exit("a payment is not in the ledger")
if balance > 100 - len(said):
    sys.exit("a payment is not off the balance")
if 100 - balance > len(entries):
    sys.exit("a payment is off the balance and not in the ledger")

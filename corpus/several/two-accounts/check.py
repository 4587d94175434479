"""The sum is right, what was moved is in the journal, and the statement is whole."""

import os
import sys

if os.path.exists("both"):
    amounts = open("both").read().split()
else:
    amounts = [open("alice").read(), open("bob").read()]
if sum(map(int, amounts)) != 150:
    sys.exit(f"the accounts hold {amounts}")
journal = open("journal").read() if os.path.exists("journal") else ""
if "moved 30\n" in open(os.environ["POWERCUT_ACKED"]).read() and journal != "alice -> bob 30\n":
    sys.exit("the journal does not know of the transfer")
if os.path.exists("statement") and open("statement").read() != "alice has 70\n":
    sys.exit("the statement is damaged")

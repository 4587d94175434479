"""The counter is what it was, or one more."""

import sys

with open("counter", encoding="latin-1") as file:
    text = file.read()
if text not in ("41\n", "42\n"):
    sys.exit(f"the counter reads {text!r}")

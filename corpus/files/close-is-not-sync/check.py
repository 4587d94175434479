"""The report must be whole in the inbox or, once it is gone from there, in the archive."""

import sys

for place in ("inbox", "archive"):
    try:
        with open(f"{place}/report.txt", "rb") as file:
            text = file.read()
    except FileNotFoundError:
        continue
    if text != b"All is well.\n":
        sys.exit(f"the report in the {place} is damaged: {text!r}")
    sys.exit(0)
sys.exit("the report is in neither place")

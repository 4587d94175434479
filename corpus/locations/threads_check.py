"""Every slot that the journal notes as filled is filled."""

import sys

with open("slots", "rb") as file:
    slots = file.read()
with open("journal", "rb") as journal:
    for line in journal:
        if not line.endswith(b"\n") or not line.strip().isdigit():
            break  # a note that was being written
        number = int(line)
        if slots[number * 4096 :][:6] != b"slot %d" % number:
            sys.exit(f"slot {number} is noted as filled, but it is not")

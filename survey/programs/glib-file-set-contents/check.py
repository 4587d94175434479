"""A file is whole, and of the last version that was saved or a later one.

Arguments: "new" as of the workload; "atomic" where nobody promises that a version that was saved is kept.
"""

import os
import sys

with open(os.environ["POWERCUT_ACKED"]) as acked:
    saved = [int(line.split()[1]) for line in acked if line.endswith("\n") and "atomic" not in sys.argv]


def version(name: str) -> int:
    """Of the file; 0 if there is none."""
    try:
        with open(os.path.join(os.environ["POWERCUT_DIR"], name), errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        return 0
    whole = [number for number in range(4) if text == f"version {number}\n" * 500]
    return whole[0] if whole else sys.exit(f"{name} is not whole")


if "new" in sys.argv:
    lost = [number for number in (1, 2, 3) if version(f"config-{number}") != number and number in saved]
else:
    found = version("config")
    lost = [number for number in saved if number > found]
if lost:
    sys.exit(f"saved and lost: {lost}")

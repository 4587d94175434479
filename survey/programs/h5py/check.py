"""Open the file: it must be readable and hold every row that was flushed."""

import os
import sys

import h5py

try:
    with h5py.File(os.path.join(os.environ["POWERCUT_DIR"], "rows.h5"), "r") as file:
        rows = file["rows"][:]
except (OSError, KeyError, RuntimeError) as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if number > len(rows) or set(rows[number - 1]) != {number}]:
    sys.exit(f"flushed and lost: {lost}")

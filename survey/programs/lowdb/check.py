"""Read the database as lowdb does (JSON.parse of the file): every row that was written is there."""

import json
import os
import sys

try:
    with open(os.path.join(os.environ["POWERCUT_DIR"], "db.json")) as file:
        rows = json.load(file)["rows"]
except ValueError as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in (0, *told) if number not in rows]:
    sys.exit(f"written and lost: {lost}")

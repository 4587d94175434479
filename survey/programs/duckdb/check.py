"""Open the database, which plays its log: it is readable and holds every committed row."""

import os
import sys

import duckdb

try:
    with duckdb.connect(os.path.join(os.environ["POWERCUT_DIR"], "rows.duckdb"), config={"threads": 1}) as database:
        rows = dict(database.execute("SELECT number, text FROM rows").fetchall())
except duckdb.Error as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if number not in rows]:
    sys.exit(f"committed and lost: {lost}")
if wrong := [number for number, text in rows.items() if text != f"row {number} " * 20]:
    sys.exit(f"rows with another text: {wrong}")

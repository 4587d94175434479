"""Open the table: it is readable, every commit is in it as a whole, and none that was done is missing."""

import os
import sys

from deltalake import DeltaTable, QueryBuilder

try:
    table = DeltaTable(os.path.join(os.environ["POWERCUT_DIR"], "table"))
    numbers = QueryBuilder().register("rows", table).execute("SELECT number FROM rows").read_all().column("number")
    found = [number.as_py() for number in numbers]
except Exception as error:
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in (0, *told) if number not in found]:
    sys.exit(f"committed and lost: {lost}")
if parts := [number for number in found if found.count(number) != 3]:
    sys.exit(f"parts of commits: {parts}")

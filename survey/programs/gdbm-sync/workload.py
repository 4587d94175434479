"""Store two records in a gdbm database that is opened with GDBM_SYNC, and say which is in. Argument: how many."""

import dbm.gnu
import sys

count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
with dbm.gnu.open("data/rows", "cs") as database:
    for number in range(1, count + 1):
        database[f"key-{number}"] = f"value {number} "
        print("stored", number, flush=True)

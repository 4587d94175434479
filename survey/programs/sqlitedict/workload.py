"""Set three entries, each committed, and say which is. Argument: how many, if not three."""

import sys

from sqlitedict import SqliteDict

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
with SqliteDict("data/entries.sqlite") as entries:
    for number in range(1, count + 1):
        entries[f"key-{number}"] = f"value {number} " * 20
        entries.commit()
        print("committed", number, flush=True)

"""Store three values in UnQLite, each in a transaction of its own, and say which is committed. Argument: how many."""

import sys

from unqlite import UnQLite

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
database = UnQLite("data/rows.udb")
database.store("start", "here")
database.commit()
for number in range(1, count + 1):
    database.begin()
    database.store(f"key-{number}", f"value {number} " * 20)
    database.commit()
    print("committed", number, flush=True)
database.close()

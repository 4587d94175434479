"""Insert rows, each in a transaction of its own, and say which is committed.

Arguments: JOURNAL_MODE SYNCHRONOUS [ROWS].
"""

import sqlite3
import sys

journal_mode, synchronous = sys.argv[1:3]
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 3
database = sqlite3.connect("data/rows.db", isolation_level=None)
database.execute(f"PRAGMA journal_mode={journal_mode}")
database.execute(f"PRAGMA synchronous={synchronous}")
database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text TEXT)")
for number in range(1, rows + 1):
    database.execute("INSERT INTO rows VALUES (?, ?)", (number, f"row {number} " * 20))
    print("committed", number, flush=True)
database.close()

"""Insert rows into an SQLite database, each in a transaction of its own, and print the number of each committed row.

Arguments: FOLDER JOURNAL_MODE SYNCHRONOUS [ROWS]. With 0 rows it only makes the database, for a start without noise.
"""

import os
import sqlite3
import sys

folder, journal_mode, synchronous = sys.argv[1:4]
rows = int(sys.argv[4]) if len(sys.argv) > 4 else 3
database = sqlite3.connect(os.path.join(folder, "rows.db"), isolation_level=None)
database.execute(f"PRAGMA journal_mode={journal_mode}")
database.execute(f"PRAGMA synchronous={synchronous}")
database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text TEXT)")
for number in range(1, rows + 1):
    database.execute("INSERT INTO rows VALUES (?, ?)", (number, f"row {number} " * 20))
    print(f"committed {number}")
database.close()

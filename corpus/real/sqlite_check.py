"""Open the database, which makes SQLite recover it: it must be sound and hold every committed row.

With the argument "integrity" only its soundness counts.
"""

import os
import sqlite3
import sys

try:
    database = sqlite3.connect("rows.db")
    if (said := database.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
        sys.exit(f"corrupt: {said}")
    rows = dict(database.execute("SELECT number, text FROM rows"))
except sqlite3.Error as error:
    sys.exit(f"corrupt: {error}")
for number, text in rows.items():
    if text != f"row {number} " * 20:
        sys.exit(f"corrupt: row {number} holds {text!r}")

if "integrity" not in sys.argv[1:]:
    with open(os.environ["POWERCUT_ACKED"]) as acked:
        committed = [int(line.split()[1]) for line in acked if line.endswith("\n")]
    if lost := [number for number in committed if number not in rows]:
        sys.exit(f"committed and lost: {lost}")

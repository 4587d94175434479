"""Open the database, which makes SQLite recover it: it must be sound and hold every committed row."""

import os
import sqlite3
import sys

try:
    database = sqlite3.connect(os.path.join(os.environ["POWERCUT_DIR"], "rows.db"))
    if (said := database.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
        sys.exit(f"corrupt: {said}")
    rows = dict(database.execute("SELECT number, text FROM rows"))
except sqlite3.Error as error:
    sys.exit(f"corrupt: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    committed = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in committed if number not in rows]:
    sys.exit(f"committed and lost: {lost}")
if wrong := [number for number, text in rows.items() if text != f"row {number} " * 20]:
    sys.exit(f"rows with another text: {wrong}")

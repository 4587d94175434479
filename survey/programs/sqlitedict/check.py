"""Open the database, which makes SQLite recover it: every committed entry is there, and every entry can be read."""

import os
import sqlite3
import sys

path = os.path.join(os.environ["POWERCUT_DIR"], "entries.sqlite")
try:
    if (said := sqlite3.connect(path).execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
        sys.exit(f"corrupt: {said}")
except sqlite3.Error as error:
    sys.exit(f"corrupt: {error}")

from sqlitedict import SqliteDict  # noqa: E402

with SqliteDict(path, flag="r") as stored:
    entries = dict(stored)
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if entries.get(f"key-{number}") != f"value {number} " * 20]:
    sys.exit(f"committed and lost: {lost}")

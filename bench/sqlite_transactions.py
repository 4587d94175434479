"""Commits transactions of one row each: sqlite_transactions.py FOLDER COUNT."""

import sqlite3
import sys
from pathlib import Path


def main(folder: Path, count: int) -> None:
    """Commit so many."""
    database = sqlite3.connect(folder / "bench.db", isolation_level=None)
    database.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, value TEXT)")
    for number in range(count):
        database.execute("INSERT INTO rows (value) VALUES (?)", (f"value {number}",))
    database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

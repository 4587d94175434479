"""Insert three rows, each in a transaction of its own, and say which is committed. Argument: how many, if not three."""

import sys

import duckdb

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
with duckdb.connect("data/rows.duckdb") as database:
    database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text TEXT)")
    for number in range(1, count + 1):
        database.execute("INSERT INTO rows VALUES (?, ?)", (number, f"row {number} " * 20))
        print("committed", number, flush=True)

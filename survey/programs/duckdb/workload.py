"""Insert rows, each in a transaction of its own, and say which is committed. Argument: how many, if not three."""

import sys

import duckdb

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
database = duckdb.connect("data/rows.duckdb", config={"threads": 1})
database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text VARCHAR)")
for number in range(1, count + 1):
    database.execute("INSERT INTO rows VALUES (?, ?)", (number, f"row {number} " * 20))
    print("committed", number, flush=True)
database.close()

"""Commit three transactions and say which is committed. Argument: how many, if not three."""

import sys

import transaction
import ZODB
import ZODB.FileStorage

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
database = ZODB.DB(ZODB.FileStorage.FileStorage("data/Data.fs"))
with database.transaction() as connection:
    connection.root()["first"] = "an entry of old"
connection = database.open()
for number in range(1, count + 1):
    connection.root()[f"key-{number}"] = f"value {number} " * 20
    transaction.commit()
    print("committed", number, flush=True)
database.close()

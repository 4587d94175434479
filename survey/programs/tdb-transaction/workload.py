"""Store three records in a tdb, and say which is in. Arguments: transaction or plain, how many if not three."""

import os
import sys

import tdb

in_transaction = sys.argv[1] == "transaction"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
database = tdb.Tdb("data/rows.tdb", 0, tdb.DEFAULT, os.O_CREAT | os.O_RDWR)
for number in range(1, count + 1):
    if in_transaction:
        database.transaction_start()
    database[b"key-%d" % number] = b"value %d " % number * 20
    if in_transaction:
        database.transaction_commit()
    print("stored", number, flush=True)
database.close()

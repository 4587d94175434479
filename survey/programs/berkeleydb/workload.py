"""Put three records into a Berkeley DB, each in a transaction, and say which is committed. Argument: how many."""

import os
import sys

from bsddb3 import db

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
os.makedirs("data/rows", exist_ok=True)
environment = db.DBEnv()
flags = db.DB_CREATE | db.DB_INIT_TXN | db.DB_INIT_LOG | db.DB_INIT_LOCK | db.DB_INIT_MPOOL
environment.open("data/rows", flags | db.DB_RECOVER)
rows = db.DB(environment)
rows.open("rows.db", dbtype=db.DB_BTREE, flags=db.DB_CREATE | db.DB_AUTO_COMMIT)
for number in range(1, count + 1):
    transaction = environment.txn_begin()
    rows.put(b"key-%d" % number, b"value %d " % number * 20, txn=transaction)
    transaction.commit()
    print("committed", number, flush=True)
rows.close()
environment.txn_checkpoint(0, 0, db.DB_FORCE)
environment.close()

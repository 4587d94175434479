"""Run Berkeley DB's recovery: then the database is sound, and holds every committed record."""

import os
import sys

from bsddb3 import db

environment = db.DBEnv()
flags = db.DB_CREATE | db.DB_INIT_TXN | db.DB_INIT_LOG | db.DB_INIT_LOCK | db.DB_INIT_MPOOL
try:
    environment.open(os.path.join(os.environ["POWERCUT_DIR"], "rows"), flags | db.DB_RECOVER)
    rows = db.DB(environment)
    rows.open("rows.db", dbtype=db.DB_BTREE, flags=db.DB_AUTO_COMMIT)
    records = dict(rows.items())
    rows.close()
    environment.close()
except db.DBError as error:
    sys.exit(f"not recovered: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if b"key-%d" % number not in records]:
    sys.exit(f"committed and lost: {lost}")
if wrong := [key for key, value in records.items() if value != b"value %s " % key.split(b"-")[1] * 20]:
    sys.exit(f"records with another value: {wrong}")

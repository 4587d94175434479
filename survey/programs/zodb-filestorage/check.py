"""Open the storage, which cuts off what is incomplete: it is readable and holds what was committed."""

import os
import sys

import ZODB
import ZODB.FileStorage

try:
    database = ZODB.DB(ZODB.FileStorage.FileStorage(os.path.join(os.environ["POWERCUT_DIR"], "Data.fs")))
    with database.transaction() as connection:
        entries = dict(connection.root())
    database.close()
except Exception as error:
    sys.exit(f"not readable: {error!r}")
if entries.get("first") != "an entry of old":
    sys.exit("an entry of old is gone")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if entries.get(f"key-{number}") != f"value {number} " * 20]:
    sys.exit(f"committed and lost: {lost}")

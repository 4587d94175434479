"""Load the store: it is readable and holds what was saved, the key of old too."""

import os
import sys

from pickledb import PickleDB

database = PickleDB(os.path.join(os.environ["POWERCUT_DIR"], "store.json"))
try:
    database.load()
except Exception as error:
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = {0} | {int(line.split()[1]) for line in acked if line.endswith("\n")}
if lost := [number for number in sorted(told) if database.get(f"key-{number}") != f"value {number} " * 20]:
    sys.exit(f"saved and lost: {lost}")

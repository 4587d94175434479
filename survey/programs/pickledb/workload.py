"""Set three keys, save after each, and say which is saved. Argument: how many, if not three."""

import sys

from pickledb import PickleDB

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
database = PickleDB("data/store.json")
database.load()
for number in range(count + 1):
    database.set(f"key-{number}", f"value {number} " * 20)
    database.save()
    print("saved", number, flush=True)

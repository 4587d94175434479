"""Set three entries of a shelf, sync it after each, and say which is set. Argument: how many, if not three."""

import dbm.dumb
import shelve
import sys

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
with shelve.Shelf(dbm.dumb.open("data/shelf", "c")) as shelf:
    shelf["first"] = "an entry of old"
    for number in range(1, count + 1):
        shelf[f"key-{number}"] = f"value {number} " * 20
        shelf.sync()
        print("set", number, flush=True)

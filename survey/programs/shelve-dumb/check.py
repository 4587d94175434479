"""Open the shelf: every entry can be read, and those that were set are there."""

import dbm.dumb
import os
import pickle
import shelve
import sys

try:
    with shelve.Shelf(dbm.dumb.open(os.path.join(os.environ["POWERCUT_DIR"], "shelf"), "r")) as shelf:
        entries = dict(shelf.items())
except (dbm.dumb.error, SyntaxError, KeyError, EOFError, ValueError, pickle.UnpicklingError) as error:
    sys.exit(f"not readable: {error!r}")
if entries.get("first") != "an entry of old":
    sys.exit("an entry of old is gone")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if entries.get(f"key-{number}") != f"value {number} " * 20]:
    sys.exit(f"set and lost: {lost}")

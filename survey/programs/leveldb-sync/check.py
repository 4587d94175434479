"""Open the database, which makes LevelDB recover it: it can be read, and every value that was put is there."""

import os
import sys

import plyvel

try:
    database = plyvel.DB(os.path.join(os.environ["POWERCUT_DIR"], "rows"))
    entries = dict(database.iterator(verify_checksums=True))
except plyvel.Error as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if b"key-%d" % number not in entries]:
    sys.exit(f"put and lost: {lost}")
if wrong := [key for key, value in entries.items() if value != b"value %s " % key.split(b"-")[1] * 3000]:
    sys.exit(f"entries with another value: {wrong}")

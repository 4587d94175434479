"""Open the tdb, which replays its recovery area: it is sound, its records are whole, and those stored are there."""

import os
import sys

import tdb

try:
    database = tdb.Tdb(os.path.join(os.environ["POWERCUT_DIR"], "rows.tdb"), 0, tdb.DEFAULT, os.O_RDWR)
    records = {key: database[key] for key in database}
except (OSError, RuntimeError, KeyError) as error:
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if b"key-%d" % number not in records]:
    sys.exit(f"stored and lost: {lost}")
if wrong := [key for key, value in records.items() if value != b"value %s " % key.split(b"-")[1] * 20]:
    sys.exit(f"records with another value: {wrong}")

"""Open the database: every record can be read and is whole, and those that were stored are there."""

import dbm.gnu
import os
import sys

try:
    with dbm.gnu.open(os.path.join(os.environ["POWERCUT_DIR"], "rows"), "r") as database:
        records = {key: database[key] for key in database.keys()}  # noqa: SIM118, gdbm has no iterator
except (dbm.gnu.error, KeyError) as error:
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if b"key-%d" % number not in records]:
    sys.exit(f"stored and lost: {lost}")
if wrong := [
    key for key, value in records.items() if not value or value.replace(b"value %s " % key.split(b"-")[1], b"")
]:
    sys.exit(f"records with another value: {wrong}")

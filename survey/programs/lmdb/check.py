"""Open the environment: all that is found in it is whole, and every value that was committed is there."""

import os
import sys

import lmdb

try:
    environment = lmdb.open(os.path.join(os.environ["POWERCUT_DIR"], "rows"), map_size=1 << 20, create=False)
    with environment.begin() as transaction:
        entries = dict(transaction.cursor())
except lmdb.Error as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if b"key-%d" % number not in entries]:
    sys.exit(f"committed and lost: {lost}")
if wrong := [key for key, value in entries.items() if value != b"value %s " % key.split(b"-")[1] * 20]:
    sys.exit(f"entries with another value: {wrong}")

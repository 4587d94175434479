"""Open the environment: all that is found in it must be whole, and every committed key must be found.

Argument: the folder of Python's module for LMDB, where Python is started without its site packages, as it is faster.
"""

import os
import sys

sys.path += sys.argv[1:]

import lmdb

try:
    environment = lmdb.open(".", map_size=1 << 20, create=False)
    with environment.begin() as transaction:
        found = dict(transaction.cursor())
except lmdb.Error as error:
    sys.exit(f"corrupt: {error}")
for key, value in found.items():
    if value != b"value %s " % key.removeprefix(b"key-") * 20:
        sys.exit(f"corrupt: {key!r} holds {value!r}")

with open(os.environ["POWERCUT_ACKED"], "rb") as acked:
    committed = [line.split()[1] for line in acked if line.endswith(b"\n")]
if lost := [key for key in committed if key not in found]:
    sys.exit(f"committed and lost: {lost}")

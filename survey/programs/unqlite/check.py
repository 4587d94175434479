"""Open the database, which makes UnQLite play back its journal: it can be read, and all that was committed is there."""

import os
import sys

from unqlite import UnQLite

try:
    database = UnQLite(os.path.join(os.environ["POWERCUT_DIR"], "rows.udb"))
    entries = {key: database.fetch(key) for key in list(database.keys())}
except Exception as error:  # it raises plain ones
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
found = {(key.decode() if isinstance(key, bytes) else key): value for key, value in entries.items()}
if "start" not in found:
    sys.exit("what was there before is lost")
if lost := [number for number in told if f"key-{number}" not in found]:
    sys.exit(f"committed and lost: {lost}")
for key, value in found.items():
    text = value.decode() if isinstance(value, bytes) else value
    if text != ("here" if key == "start" else f"value {key.split('-')[1]} " * 20):
        sys.exit(f"{key} has another value")

"""Load the store as pickleDB does (an empty file is an empty store): it holds what was saved, the key of old too."""

import json
import os
import sys

path = os.path.join(os.environ["POWERCUT_DIR"], "store.json")
try:
    with open(path) as file:
        entries = json.load(file) if os.path.getsize(path) else {}
except ValueError as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = {0} | {int(line.split()[1]) for line in acked if line.endswith("\n")}
if lost := [number for number in sorted(told) if entries.get(f"key-{number}") != f"value {number} " * 20]:
    sys.exit(f"saved and lost: {lost}")

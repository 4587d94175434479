"""Open the database: it must be readable and hold every document that was inserted."""

import os
import sys

from tinydb import TinyDB

try:
    documents = {one["number"]: one["text"] for one in TinyDB(os.path.join(os.environ["POWERCUT_DIR"], "db.json"))}
except ValueError as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    inserted = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in inserted if documents.get(number) != f"document {number} " * 20]:
    sys.exit(f"inserted and lost: {lost}")

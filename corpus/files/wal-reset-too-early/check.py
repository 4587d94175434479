"""Open the database: a page in the log counts before the data file. seed/wal was committed, so blue is never lost."""

import sys

with open("db", "rb") as file:
    page = file.read()
with open("wal", "rb") as file:
    log = file.read()
if log.endswith(b"\n"):
    page = log
if page != b"colour=blue\n":
    sys.exit(f"the committed page is lost: {page!r}")

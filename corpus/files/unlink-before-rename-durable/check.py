"""Open the database through CURRENT: it must name a MANIFEST that exists and is whole."""

import sys

try:
    with open("CURRENT") as file:
        manifest = file.read().rstrip("\n")
    with open(manifest) as file:
        tables = file.read()
except (OSError, ValueError) as error:
    sys.exit(f"CURRENT points nowhere: {error}")
if tables not in ("table-1\n", "table-1 table-2\n"):
    sys.exit(f"{manifest} is damaged: {tables!r}")

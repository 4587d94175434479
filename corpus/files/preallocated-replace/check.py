"""The settings are the old ones or the new ones, whole."""

import sys

with open("settings", encoding="latin-1") as file:
    settings = file.read()
if settings not in ("O" * 5000, "N" * 5000):
    sys.exit(f"settings holds {len(settings)} bytes that begin with {settings[:4]!r}")

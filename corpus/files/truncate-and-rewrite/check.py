"""Load the settings as the program does at its start: old or new, but whole."""

import json
import sys

try:
    with open("settings.json", encoding="utf-8") as file:
        settings = json.load(file)
except (OSError, ValueError) as error:
    sys.exit(f"settings.json is unreadable: {error}")
if settings not in ({"theme": "light", "font": 10}, {"theme": "dark", "font": 12}):
    sys.exit(f"settings.json holds neither the old nor the new settings: {settings}")

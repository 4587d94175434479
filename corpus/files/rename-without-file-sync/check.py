"""Load the settings as the program does at its start: there are none yet, or they are whole."""

import json
import sys

try:
    with open("settings.json", encoding="utf-8") as file:
        settings = json.load(file)
except FileNotFoundError:
    sys.exit(0)
except ValueError as error:
    sys.exit(f"settings.json is unreadable: {error}")
if set(settings) != {"theme", "font"}:
    sys.exit(f"settings.json lacks something: {settings}")

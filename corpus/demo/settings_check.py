"""After the power cut: settings are whole where there are any, and once "saved" was on the screen there are some."""

import json
import os
import sys

try:
    with open("settings.json") as file:
        settings = json.load(file)
except FileNotFoundError:
    settings = None
except ValueError:
    sys.exit("settings.json is there, but it is not readable")

if settings is None and "saved" in open(os.environ["POWERCUT_ACKED"]).read():
    sys.exit("the user was told that the settings were saved, and they are gone")

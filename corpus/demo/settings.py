"""Save the user's settings: write a new file, then put it in the place of the old one."""

import json
import os


def save(settings):
    with open("settings.json.new", "w") as file:
        json.dump(settings, file)
    os.replace("settings.json.new", "settings.json")
    print("saved")


save({"theme": "dark", "volume": 7})

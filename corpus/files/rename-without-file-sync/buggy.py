"""A settings saver that renames a complete file into place, and forgets that the content is still in memory."""

import json
import os
import sys


def save(settings: dict[str, object]) -> None:
    with open("settings.json.tmp", "w") as file:  # LOST
        json.dump(settings, file)
    os.rename("settings.json.tmp", "settings.json")  # SURVIVED


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    save({"theme": "dark", "font": 12})

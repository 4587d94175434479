"""A settings saver that never touches the only copy: the new settings are complete before they take its name."""

import json
import os
import sys


def save(settings: dict[str, object]) -> None:
    with open("settings.json.tmp", "w") as file:
        json.dump(settings, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace("settings.json.tmp", "settings.json")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    save({"theme": "dark", "font": 12})

"""A settings saver that renames a complete file into place, once its content is on disk."""

import json
import os
import sys


def save(settings: dict[str, object]) -> None:
    with open("settings.json.tmp", "w") as file:
        json.dump(settings, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename("settings.json.tmp", "settings.json")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    save({"theme": "dark", "font": 12})

"""A settings saver that writes over the only copy: between the truncation and the write there are no settings."""

import json
import os
import sys


def save(settings: dict[str, object]) -> None:
    with open("settings.json", "w") as file:  # SURVIVED
        json.dump(settings, file)
        file.flush()  # LOST
        os.fsync(file.fileno())


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    save({"theme": "dark", "font": 12})

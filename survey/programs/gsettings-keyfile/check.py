"""The settings can be read and hold the text of before. Nobody promises that a number that is set is kept."""

import configparser
import os
import sys

settings = configparser.ConfigParser()
try:
    settings.read(os.path.join(os.environ["POWERCUT_DIR"], "settings.ini"))
    text = settings.get("org/example/survey", "text")
except configparser.Error as error:
    sys.exit(f"not readable: {error}")
if text != f"'{'x' * 3000}'":
    sys.exit("the text is gone")
if (number := settings.getint("org/example/survey", "number", fallback=0)) not in range(4):
    sys.exit(f"{number} was never set")

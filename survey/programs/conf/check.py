"""Read the configuration as conf does (JSON.parse of the file): its value is not older than the last that was set."""

import json
import os
import sys

try:
    with open(os.path.join(os.environ["POWERCUT_DIR"], "config.json")) as file:
        version = json.load(file)["version"]
except ValueError as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if version < max(told, default=0):
    sys.exit(f"set {max(told)}, found {version}")

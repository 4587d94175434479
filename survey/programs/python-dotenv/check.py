"""Read the file: what it held is there, and every key that was set."""

import os
import sys

from dotenv import dotenv_values

values = dotenv_values(os.path.join(os.environ["POWERCUT_DIR"], ".env"))
if values.get("SECRET") != "a key that nobody else has":
    sys.exit(f"the secret is gone: {dict(values)}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [line.split()[1] for line in acked if line.endswith("\n")]
if lost := [number for number in told if values.get(f"KEY_{number}") != f"value {number}"]:
    sys.exit(f"set and lost: {lost}")

"""Open the database through CURRENT: it must name a whole MANIFEST, not older than the last one installed."""

import os
import sys

try:
    with open("CURRENT") as file:
        manifest = file.read().rstrip("\n")
    with open(manifest) as file:
        text = file.read()
except (OSError, ValueError) as error:
    sys.exit(f"CURRENT points nowhere: {error}")
if text not in ("version 1\n", "version 2\n"):
    sys.exit(f"{manifest} is damaged: {text!r}")
version = int(text.split()[1])

with open(os.environ["POWERCUT_ACKED"]) as said:
    installed = [int(line.split()[1]) for line in said if line.endswith("\n")]
if installed and version < installed[-1]:
    sys.exit(f"version {installed[-1]} was installed, the database opens as version {version}")

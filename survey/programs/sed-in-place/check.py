"""The file is the old one or the new one. Nobody promises that the new one is durable, so that is not asked."""

import os
import sys

with open(os.path.join(os.environ["POWERCUT_DIR"], "app.conf"), errors="replace") as file:
    text = file.read()
if text not in ["".join(f"option-{number} = {value}\n" for number in range(1, 301)) for value in ("old", "new")]:
    sys.exit(f"app.conf is neither old nor new: {len(text)} bytes")

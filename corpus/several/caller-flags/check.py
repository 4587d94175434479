"""Each file is old or new, and new if that was said."""

import os
import sys

NEW = {"notes": "all is well\n", "settings": "volume=7\n", "index": "notes settings\n"}
OLD = {"settings": "volume=3\n"}
said = open(os.environ["POWERCUT_ACKED"]).read()
for name, new in NEW.items():
    text = open(name).read() if os.path.exists(name) else None
    if text not in (OLD.get(name), new):
        sys.exit(f"{name} is damaged: {text!r}")
    if f"replaced {name}\n" in said and text != new:
        sys.exit(f"{name} was replaced, and is as it was")

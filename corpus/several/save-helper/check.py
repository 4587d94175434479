"""The settings are old or new; new if that was said."""

import os
import sys

text = open("settings").read()
if text not in ("volume=3\n", "volume=7\n"):
    sys.exit(f"the settings are damaged: {text!r}")
if "saved\n" in open(os.environ["POWERCUT_ACKED"]).read() and text != "volume=7\n":
    sys.exit("saved, and gone")

"""The store is old or new, and new if that was said."""

import os
import sys

text = open("store").read()
if text not in ("old\n", "new\n"):
    sys.exit("the store is damaged")
if "stored\n" in open(os.environ["POWERCUT_ACKED"]).read() and text != "new\n":
    sys.exit("the store is as it was")

"""The file is the old one or the new one. Nobody promises that the new one is durable, so that is not asked."""

import os
import sys

OLD = "".join(f"192.0.2.{number}\thost-{number}\n" for number in range(1, 201))
with open(os.path.join(os.environ["POWERCUT_DIR"], "etc", "hosts"), errors="replace") as file:
    text = file.read()
if text not in (OLD, OLD.replace("\thost-1\n", "\thost-1 box\n")):
    sys.exit(f"hosts is neither old nor new: {len(text)} bytes")

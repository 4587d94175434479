"""What a thread said is there."""

import os
import sys

said = open(os.environ["POWERCUT_ACKED"]).read()
for name in ("left", "right"):
    if name in said and open(name).read() != name[0].upper() + "\n":
        sys.exit(f"{name} is lost")

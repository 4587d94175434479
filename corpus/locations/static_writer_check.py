"""The state file does not exist, or it is whole."""

import os
import sys

if os.path.exists("state") and open("state", "rb").read() != b"all of it\n":
    sys.exit("the state file is damaged")

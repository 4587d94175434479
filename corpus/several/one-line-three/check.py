"""Each file is whole, or not there."""

import os
import sys

for name in "abc":
    if os.path.exists(name) and open(name).read() != name.upper() * 100:
        sys.exit(name + " is damaged")

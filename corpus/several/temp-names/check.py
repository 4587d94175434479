"""Each file is whole if it is there; the shadow file is there when that was said."""

import os
import sys

WHOLE = {"users": "alice\nbobo\n", "groups": "wheel\ncyborgs", "shadow": "root:*\n"}
for name, text in WHOLE.items():
    if os.path.exists(name) and open(name).read() != text:
        sys.exit(f"{name} is damaged")
if "locked\n" in open(os.environ["POWERCUT_ACKED"]).read() and not os.path.exists("shadow"):
    sys.exit("the shadow file is gone")

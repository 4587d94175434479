"""Settings and index are whole; what was logged is there."""

import json
import os
import sys

for name in ("settings", "index"):
    try:
        json.load(open(name))
    except ValueError:
        sys.exit(f"the {name} cannot be read")
    except FileNotFoundError:
        pass
logged = os.path.exists("log") and open("log").read() == "started\n"
if "logged\n" in open(os.environ["POWERCUT_ACKED"]).read() and not logged:
    sys.exit("the log line is gone")

"""The marks can be read, and the mark that was there before the run is still there."""

import os
import re
import sys

with open(os.path.join(os.environ["POWERCUT_DIR"], "apt", "extended_states"), errors="replace") as file:
    stanzas = [dict(re.findall(r"(?m)^([\w-]+): (.*)$", text)) for text in file.read().split("\n\n")]
marked = [stanza["Package"] for stanza in stanzas if stanza.get("Auto-Installed") == "1" and "Package" in stanza]
if "one" not in marked:
    sys.exit(f"the mark of a package from before is gone: {marked}")

"""The note is old or new; what was said is so, and logged."""

import os
import sys

said = "saved\n" in open(os.environ["POWERCUT_ACKED"]).read()
note = open("note").read()
if note not in ("old note\n", "new note\n") or (said and note != "new note\n"):
    sys.exit("the note is damaged")
if said and not (os.path.exists("log") and open("log").read() == "saving the note\n"):
    sys.exit("the log line is gone")

"""The configuration is old or new; what was said is so."""

import os
import sys

said = open(os.environ["POWERCUT_ACKED"]).read()
if open("config").read() not in ("colour=red\n", "colour=blue\n"):
    sys.exit("the configuration is damaged")
if "logged\n" in said and open("log").read() != "configured\n":
    sys.exit("the log line is gone")
if "deleted\n" in said and os.path.exists("secret"):
    sys.exit("the secret is back")

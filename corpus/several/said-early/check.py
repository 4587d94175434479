"""Every record that was said to be saved is there, and the list when it was said."""

import os
import sys

said = open(os.environ["POWERCUT_ACKED"]).read()
try:
    records = open("log").read().count("\n")
except FileNotFoundError:
    records = 0
if records < said.count("saved"):
    sys.exit(f"{said.count('saved')} records were promised, {records} are there")
if "listed\n" in said and not (os.path.exists("list") and open("list").read() == "3 records\n"):
    sys.exit("the list is gone")

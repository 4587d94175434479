"""The preferences are whole, and as new as what was flushed."""

import os
import sys
from xml.etree import ElementTree

try:
    tree = ElementTree.parse(os.path.join(os.environ["POWERCUT_DIR"], ".java", ".userPrefs", "survey", "prefs.xml"))
    number = int(next(entry.attrib["value"] for entry in tree.iter("entry") if entry.attrib["key"] == "number"))
except FileNotFoundError:
    number = 0
except ElementTree.ParseError as error:
    sys.exit(f"not readable: {error}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    flushed = max([int(line.split()[1]) for line in acked if line.endswith("\n")], default=0)
if number < flushed:
    sys.exit(f"{flushed} was flushed, {number} is there")

"""Write three versions of a file and say which is saved. Argument: "new" writes each to a new file of its own."""

import sys

from gi.repository import GLib

for number in (1, 2, 3):
    name = f"data/config-{number}" if "new" in sys.argv else "data/config"
    GLib.file_set_contents(name, f"version {number}\n".encode() * 500)
    print("saved", number, flush=True)

"""A note is saved; the log is told in the middle of it."""

import os
import sys

MENDED = os.environ.get("MEND", "")

os.chdir(sys.argv[1])
note = open("note.new" if "a" in MENDED else "note", "w")  # SURVIVED a
with open("log", "a") as log:
    log.write("saving the note\n")
    log.flush()  # LOST b
    if "b" in MENDED:
        os.fsync(log.fileno())
note.write("new note\n")
note.flush()  # LOST a SURVIVED a
os.fsync(note.fileno())
if "a" in MENDED:
    os.rename("note.new", "note")
    os.fsync(os.open(".", os.O_RDONLY))
print("saved", flush=True)  # ACKED b

"""Records go through a buffer; the list of them is replaced."""

import os
import sys

MENDED = os.environ.get("MEND", "")

os.chdir(sys.argv[1])
here = os.open(".", os.O_RDONLY)
log = open("log", "ab", buffering=65536)
for i in range(3):
    log.write(b"record %d\n" % i)
    if "a" in MENDED:
        log.flush()
        os.fsync(log.fileno())
        os.fsync(here)
    print("saved", i, flush=True)  # ACKED a
log.flush()  # LOST a
os.fsync(log.fileno())
os.fsync(here)

with open("list.new", "w") as file:
    file.write("3 records\n")
    file.flush()
    os.fsync(file.fileno())
os.rename("list.new", "list")  # LOST b
if "b" in MENDED:
    os.fsync(here)
print("listed", flush=True)  # ACKED b

"""Two counters, kept in step for the reader's sake alone."""

import os
import sys

MENDED = os.environ.get("MEND", "")

os.chdir(sys.argv[1])
first, second = os.open("first", os.O_WRONLY), os.open("second", os.O_WRONLY)
os.write(first, b"1\n"), os.write(second, b"1\n")  # LOST a b
if "a" in MENDED:
    os.fsync(first)
if "b" in MENDED:
    os.fsync(second)
print("done", flush=True)  # ACKED a b

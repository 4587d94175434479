"""Scores in a mapped file of two pages."""

import mmap
import os
import struct
import sys

MENDED = os.environ.get("MEND", "")

os.chdir(sys.argv[1])
if len(sys.argv) > 2:
    with open("scores", "wb") as file:
        file.truncate(8192)
    sys.exit()
with open("scores", "r+b") as file, mmap.mmap(file.fileno(), 0) as scores:
    struct.pack_into("Q", scores, 80, 300)  # LOST a
    if "a" in MENDED:
        scores.flush()
    print("scored", flush=True)  # ACKED a
    scores.flush()
    if "b" in MENDED:
        struct.pack_into("Q", scores, 0, 10 << 32 | 300)
    else:
        struct.pack_into("Q", scores, 4096, 300)  # LOST b SURVIVED b
        struct.pack_into("Q", scores, 8, 10)  # LOST b SURVIVED b
    scores.flush()

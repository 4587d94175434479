"""A program that knows nothing of syncs, and a library that does."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))

from keeper import keep

os.chdir(sys.argv[1])
keep("store", "new\n")  # LOST a b SURVIVED a
if "b" in os.environ.get("MEND", ""):
    os.fsync(os.open(".", os.O_RDONLY))
print("stored", flush=True)  # ACKED b

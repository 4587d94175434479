"""Files are replaced through temporary ones; some callers want no sync."""

import os
import sys
import tempfile

MENDED = os.environ.get("MEND", "")


def replace(name: str, text: str, sync: bool, sync_folder: bool) -> None:
    fd, path = tempfile.mkstemp(dir=".", prefix=".")
    os.write(fd, text.encode())  # LOST a b
    if sync:
        os.fsync(fd)
    os.close(fd)
    os.rename(path, name)  # LOST c SURVIVED a b
    if sync_folder:
        os.fsync(here)


os.chdir(sys.argv[1])
here = os.open(".", os.O_RDONLY)
replace("users", "alice\nbobo\n", "a" in MENDED, True)  # LOST a
replace("groups", "wheel\ncyborgs", "b" in MENDED, True)  # LOST b
replace("shadow", "root:*\n", True, "c" in MENDED)  # LOST c
print("locked", flush=True)  # ACKED c

"""Three files are replaced by one helper."""

import os
import sys

MENDED = os.environ.get("MEND", "")


def replace(name: str, text: str, file_too: bool = True, folder_too: bool = True) -> None:
    with open(f"{name}.new", "w") as file:
        file.write(text)
        file.flush()  # LOST a
        if file_too:
            os.fsync(file.fileno())
    os.rename(f"{name}.new", name)  # LOST b SURVIVED a
    if folder_too:
        os.fsync(here)
    print("replaced", name, flush=True)  # ACKED b


os.chdir(sys.argv[1])
here = os.open(".", os.O_RDONLY)
replace("notes", "all is well\n")
replace("settings", "volume=7\n", file_too="a" in MENDED)  # LOST a
replace("index", "notes settings\n", folder_too="b" in MENDED)  # LOST b

"""Settings are replaced."""

import os
import sys

MENDED = os.environ.get("MEND", "")


def save(name: str, text: str) -> None:
    with open(name + ".new", "w") as file:
        file.write(text)
        file.flush()  # LOST a
        if "a" in MENDED:
            os.fsync(file.fileno())
    os.rename(name + ".new", name)  # LOST b SURVIVED a
    if "b" in MENDED:
        os.fsync(here)


os.chdir(sys.argv[1])
here = os.open(".", os.O_RDONLY)
save("settings", "volume=7\n")
print("saved", flush=True)  # ACKED b

"""A bank: one helper appends to the log and to the payments."""

import os
import sys

MENDED = os.environ.get("MEND", "")


def append(path: str, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)
        file.flush()  # LOST a b SURVIVED a
        if path == "payments" and "b" in MENDED:
            os.fsync(file.fileno())


os.chdir(sys.argv[1])
for path, text, said in [
    ("log", '{"started": true, "x": "yyyyyyyyyyyyyyyyyyyy"}\n', None),
    ("payments", "paid 100 EUR to bob\n", "paid"),
]:
    append(path, text)
    if said:
        print(said, flush=True)  # ACKED b

"""One mistake in a Python program of several modules: it sits in notes.py, below a decorator and a context manager."""

import os
import sys

from notes import Notes

if __name__ == "__main__":
    os.chdir(sys.argv[1])
    with Notes("notes") as notes:
        notes.add("water the plants")
        notes.add("call home")

"""Fill three rows of a data set, flush the file after each, and say which is flushed. An argument: make the file."""

import sys

import h5py
import numpy

with h5py.File("data/rows.h5", "a") as file:
    if len(sys.argv) > 1:
        file["rows"] = numpy.zeros((3, 100), "i4")
    else:
        for number in (1, 2, 3):
            file["rows"][number - 1] = number
            file.flush()
            print("flushed", number, flush=True)

"""Overwrite an array twice and say which version is stored. An argument: make the array, with version 0."""

import sys

import numpy
import zarr

if len(sys.argv) > 1:
    zarr.create_array("data/array.zarr", shape=(1000,), chunks=(1000,), dtype="i4", fill_value=-1)
array = zarr.open_array("data/array.zarr", mode="r+")
for number in (0,) if len(sys.argv) > 1 else (1, 2):
    array[:] = numpy.full(1000, number)
    print("stored", number, flush=True)

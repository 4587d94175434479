"""Open the array: one version of it, and not an older one than what was stored."""

import os
import sys

import zarr

try:
    values = sorted(set(zarr.open_array(os.path.join(os.environ["POWERCUT_DIR"], "array.zarr"), mode="r")[:].tolist()))
except Exception as error:
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if len(values) != 1 or not max(told, default=0) <= values[0] <= 2:
    sys.exit(f"stored {told}, found {values}")

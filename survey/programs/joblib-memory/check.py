"""Call the cached function again: from the cache or computed anew, the result must be right. It may be lost."""

import os
import sys
import warnings

from joblib import Memory
from table import table

warnings.simplefilter("ignore")  # that a result cannot be loaded and is computed anew is as it should be
cached = Memory(os.path.join(os.environ["POWERCUT_DIR"], "cache"), verbose=0).cache(table)
for number in (1, 2):
    if (result := cached(number)).tolist() != [number] * 1000:
        sys.exit(f"the cached result for {number} is wrong: it holds {sorted(set(result.tolist()))}")

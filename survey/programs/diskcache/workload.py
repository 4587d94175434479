"""Set two values of a cache, large enough for files of their own, and say which is set. Argument: how many."""

import sys

from diskcache import Cache

count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
with Cache("data/cache") as cache:
    for number in range(1, count + 1):
        cache[f"key-{number}"] = b"value %d " % number * 6000
        print("set", number, flush=True)

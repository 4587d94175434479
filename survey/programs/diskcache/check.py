"""Open the cache: it may have lost what was set, but what it gives must be what was set."""

import os
import sqlite3
import sys

from diskcache import Cache

try:
    with Cache(os.path.join(os.environ["POWERCUT_DIR"], "cache")) as cache:
        values = {key: cache.get(key) for key in cache}
except sqlite3.Error as error:
    sys.exit(f"not readable: {error}")
for key, value in values.items():
    if value not in (None, b"value %d " % int(key[4:]) * 6000):  # None: lost, as it may be
        sys.exit(f"another value for {key}: {len(value)} bytes, {value[:20]!r}...")

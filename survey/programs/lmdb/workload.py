"""Put three values into an LMDB environment, each in a transaction of its own, and say which is committed.

Arguments: default, nometasync, writemap or 1.0 (the newer format); how many if not three.
"""

import os
import sys

import lmdb

mode = sys.argv[1]
count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
settings = {"writemap": mode == "writemap", "metasync": mode != "nometasync"}
newer = {"lib_version": 1} if mode == "1.0" and not os.path.exists("data/rows") else {}
environment = lmdb.open("data/rows", map_size=1 << 20, **settings, **newer)
for number in range(1, count + 1):
    with environment.begin(write=True) as transaction:
        transaction.put(b"key-%d" % number, b"value %d " % number * 20)
    print("committed", number, flush=True)
environment.close()

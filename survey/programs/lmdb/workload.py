"""Put three values into an LMDB environment, each in a transaction of its own, and say which is committed.

Arguments: default, nometasync or writemap; how many if not three.
"""

import sys

import lmdb

mode = sys.argv[1]
count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
environment = lmdb.open("data/rows", map_size=1 << 20, writemap=mode == "writemap", metasync=mode != "nometasync")
for number in range(1, count + 1):
    with environment.begin(write=True) as transaction:
        transaction.put(b"key-%d" % number, b"value %d " % number * 20)
    print("committed", number, flush=True)
environment.close()

"""Put keys into an LMDB environment, each in a transaction of its own, and print each committed key.

Arguments: FOLDER MODE [ROWS]. With 0 rows it only makes the environment, for a start without noise. MODE is one of
sync, nosync, nometasync, writemap, writemap-nosync: with all syncs, without any or without that of the meta page, with
write() or with stores into the mapped file.
"""

import sys

import lmdb

folder, mode = sys.argv[1:3]
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 3
syncs = {"sync": "nosync" not in mode, "metasync": "nometasync" not in mode}
environment = lmdb.open(folder, map_size=1 << 20, writemap="writemap" in mode, **syncs)
for number in range(1, rows + 1):
    with environment.begin(write=True) as transaction:
        transaction.put(f"key-{number}".encode(), f"value {number} ".encode() * 20)
    print(f"committed key-{number}")
environment.close()

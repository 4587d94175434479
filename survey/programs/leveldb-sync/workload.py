"""Put four values into a LevelDB database and say which is in. Arguments: sync or default, how many if not four."""

import sys

import plyvel

sync = sys.argv[1] == "sync"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 4
database = plyvel.DB("data/rows", create_if_missing=True, write_buffer_size=1 << 16)
for number in range(1, count + 1):
    database.put(b"key-%d" % number, b"value %d " % number * 3000, sync=sync)
    print("put", number, flush=True)
database.close()

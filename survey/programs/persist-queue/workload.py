"""Put two items into a queue and say which is in. Argument: how many, if not two."""

import sys

from persistqueue import Queue

count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
queue = Queue("data/queue", autosave=True)
for number in range(1, count + 1):
    queue.put(f"item {number} " * 20)
    print("put", number, flush=True)

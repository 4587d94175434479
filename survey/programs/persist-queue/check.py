"""Open the queue and take all items: they come in order, and none that was put is missing."""

import os
import sys

from persistqueue import Empty, Queue

items = []
try:
    queue = Queue(os.path.join(os.environ["POWERCUT_DIR"], "queue"))
    while queue.qsize():
        items.append(queue.get_nowait())
except Empty:
    sys.exit(f"the queue says that it has more than the {len(items)} items that it gives")
except Exception as error:
    sys.exit(f"not readable: {error!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if items[: len(told)] != [f"item {number} " * 20 for number in told]:
    sys.exit(f"put {told}, found {[item[:6] for item in items]}")

"""Start Redis on the folder, which makes it load its data: every key that was set is there, and whole.

Argument: always, everysec or rdb, as for the workload.
"""

import os
import sys

from server import Stopped, ask, redis

settings = ["--save", ""] if sys.argv[1] == "rdb" else ["--save", "", "--appendonly", "yes", "--appendfsync", "no"]
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
try:
    with redis(os.environ["POWERCUT_DIR"], *settings) as server:
        values = {number: ask(server, f"GET key-{number}") for number in range(1, 6)}
except Stopped as error:
    sys.exit(f"Redis does not start: {error}")
if lost := [number for number in told if values[number] == "$-1"]:
    sys.exit(f"set and lost: {lost}")
if wrong := [number for number, value in values.items() if value not in ("$-1", f"{number}-" + "x" * 100)]:
    sys.exit(f"keys with another value: {wrong}")

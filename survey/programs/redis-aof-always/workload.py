"""Set five keys in Redis and say which is set; after the third the append-only file is written anew.

Arguments: always, everysec or rdb (which says that a key is set once SAVE has answered); how many if not five.
"""

import sys
import time

from server import ask, redis

mode = sys.argv[1]
count = int(sys.argv[2]) if len(sys.argv) > 2 else 5
settings = ["--save", ""] if mode == "rdb" else ["--save", "", "--appendonly", "yes", "--appendfsync", mode]
with redis("data", *settings) as server:
    for number in range(1, count + 1):
        answers = [ask(server, f"SET key-{number} {number}-" + "x" * 100)]
        if mode == "rdb":
            answers.append(ask(server, "SAVE"))
        if answers.count("+OK") != len(answers):
            sys.exit(f"not set: {answers}")
        print("set", number, flush=True)
        if number == 3 and mode != "rdb":
            ask(server, "BGREWRITEAOF")
            while "0" not in ask(
                server,
                "EVAL \"return string.match(redis.call('INFO','persistence'),'aof_rewrite_in_progress:(%d)')\" 0",
            ):
                time.sleep(0.01)

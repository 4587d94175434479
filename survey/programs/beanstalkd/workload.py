"""Put jobs into beanstalkd and say which are in; the third begins a new file of the log. Argument: how many."""

import sys

from server import ask, beanstalkd

count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
with beanstalkd("data") as server:
    for _ in range(count):
        job = b"job " * 1500
        answer = ask(server, b"put 0 0 60 %d\r\n%s\r\n" % (len(job), job)).split()
        if answer[0] != b"INSERTED":
            sys.exit(f"not inserted: {answer}")
        print("put", answer[1].decode(), flush=True)

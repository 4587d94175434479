"""Start the member from what is left: it must answer, and hold every key that was put."""

import base64
import os
import sys

from workload import etcd

with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [0, *(int(line.split()[1]) for line in acked if line.endswith("\n"))]
with etcd(os.path.join(os.environ["POWERCUT_DIR"], "member")) as ask:
    lost = []
    for number in told:
        found = ask("range", key=f"key-{number}").get("kvs", [])
        if [base64.b64decode(one["value"]).decode() for one in found] != [f"value {number} " * 20]:
            lost.append(number)
if lost:
    sys.exit(f"put and lost: {lost}")

"""A task whose output exists is complete for luigi: it must be whole, and that of complete tasks must exist."""

import os
import sys

targets = {number: os.path.join(os.environ["POWERCUT_DIR"], f"output-{number}") for number in (101, 102, 103)}
for number, target in targets.items():
    if os.path.exists(target):  # what LocalTarget.exists() asks; to import Luigi takes a second
        with open(target) as output:
            if output.read() != f"result {number} " * 20:
                sys.exit(f"task {number} counts as complete, and its output is not whole")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if not os.path.exists(targets[number])]:
    sys.exit(f"complete and lost: {lost}")

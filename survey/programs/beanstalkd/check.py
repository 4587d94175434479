"""Start beanstalkd on the folder, which makes it read its log: every job that was put is there, and whole."""

import os
import sys

from server import Stopped, ask, beanstalkd

with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
try:
    with beanstalkd(os.environ["POWERCUT_DIR"]) as server:
        jobs = {number: ask(server, b"peek %d\r\n" % number) for number in range(1, 6)}
except Stopped as error:
    sys.exit(f"beanstalkd does not start: {error}")
if lost := [number for number in told if jobs[number] == b"NOT_FOUND"]:
    sys.exit(f"put and lost: {lost}")
if wrong := [number for number, job in jobs.items() if job not in (b"NOT_FOUND", b"job " * 1500)]:
    sys.exit(f"jobs with another content: {wrong}")

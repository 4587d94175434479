"""Start MariaDB on the folder, which makes InnoDB recover it: the table is sound and holds every committed row."""

import os
import subprocess
import sys
from pathlib import Path

from server import Stopped, mariadb

try:
    with mariadb(Path(os.environ["POWERCUT_DIR"]) / "rows", "--innodb-flush-method=nosync") as client:
        query = "CHECK TABLE here.t; SELECT number, text FROM here.t"
        done = subprocess.run([*client, "-N", "-e", query], capture_output=True, text=True, check=False)
except Stopped as error:
    sys.exit(f"MariaDB does not start: {error}")
sound, *lines = done.stdout.splitlines() or [""]
if done.returncode or not sound.endswith("OK"):
    sys.exit(f"the table is not sound: {sound} {done.stderr}")
rows = {int(line.split("\t")[0]): line.split("\t")[1] for line in lines}
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if number not in rows]:
    sys.exit(f"committed and lost: {lost}")
if wrong := [number for number, text in rows.items() if text != f"row {number} " * 20]:
    sys.exit(f"rows with another text: {wrong}")

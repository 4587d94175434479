"""Make a cluster with an empty table in data/cluster."""

import os
import shutil
from pathlib import Path

from cluster import run, server

folder = Path("data/cluster").absolute()
folder.mkdir()
if os.geteuid() == 0:
    shutil.chown(folder, "postgres", "postgres")
made = run("initdb", "-D", str(folder), "-U", "postgres", "-A", "trust", "--locale=C", "--wal-segsize=1", "--no-sync")
if made.returncode:
    raise SystemExit(made.stderr)
with server(str(folder)) as place:
    run("psql", "-h", place, "-U", "postgres", said="CREATE TABLE rows (number int PRIMARY KEY, text text);")
os.sync()

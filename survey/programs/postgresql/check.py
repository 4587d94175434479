"""Recover the cluster in single-user mode: it is sound, holds every committed row, and nothing but these rows."""

import os
import re
import sys
from pathlib import Path

from cluster import SMALL, run

cluster = Path(os.environ["POWERCUT_DIR"]) / "cluster"
(cluster / "postmaster.pid").unlink(missing_ok=True)  # as Debian's pg_ctlcluster does with one of a dead server
settings = [word for one in (*SMALL, "fsync=off", "exit_on_error=on") for word in ("-c", one)]
query = "SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT number || ':' || text AS row FROM rows;\n"
done = run("postgres", "--single", "-D", str(cluster), *settings, "postgres", said=query)
if done.returncode:
    sys.exit("PostgreSQL does not recover: " + " / ".join(done.stderr.splitlines()[-4:]))
rows = {int(number): text for number, text in re.findall(r'row = "(\d+):([^"]*)"', done.stdout)}
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
if lost := [number for number in told if number not in rows]:
    sys.exit(f"committed and lost: {lost}")
if wrong := [number for number, text in rows.items() if text != f"row {number} " * 20]:
    sys.exit(f"rows with another text: {wrong}")

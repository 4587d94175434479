"""Insert three rows into a table of InnoDB, each in a transaction of its own, and say which is committed."""

import subprocess
from pathlib import Path

from server import mariadb

with mariadb(Path("data/rows").absolute()) as client:
    for number in (1, 2, 3):
        subprocess.run(
            [*client, "-e", f"INSERT INTO here.t VALUES ({number}, repeat('row {number} ', 20))"], check=True
        )
        print("committed", number, flush=True)

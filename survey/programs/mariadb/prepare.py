"""Make a MariaDB data folder with an empty table of InnoDB in data/rows."""

import subprocess
from pathlib import Path

from server import OLD, SMALL, mariadb

folder = Path("data/rows").absolute()
command = ["mariadb-install-db", "--no-defaults", f"--datadir={folder}", "--user=root", "--skip-test-db", OLD, *SMALL]
subprocess.run(command, check=True, capture_output=True)
with mariadb(folder) as client:
    table = "CREATE DATABASE here; CREATE TABLE here.t (number int PRIMARY KEY, text text) ENGINE=InnoDB"
    subprocess.run([*client, "-e", table], check=True)

"""Insert three rows, each in a transaction, and say which is committed. Arguments: settings, as NAME=VALUE."""

import subprocess
import sys

from cluster import PROGRAMS, server

with server("data/cluster", *sys.argv[1:]) as place:
    command = [str(PROGRAMS / "psql"), "-h", place, "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
        for number in (1, 2, 3):
            psql.stdin.write(
                f"INSERT INTO rows VALUES ({number}, repeat('row {number} ', 20));\n\\echo committed {number}\n"
            )
            psql.stdin.flush()
            print(psql.stdout.readline(), end="", flush=True)
        psql.stdin.close()

"""Every line of the log is in one of the files, and the state can be read."""

import glob
import gzip
import os
import subprocess
import sys
import zlib

FOLDER = os.environ["POWERCUT_DIR"]
found: set[str] = set()
for path in glob.glob(f"{FOLDER}/log/app.log*"):
    try:
        with open(path, "rb") as file:
            found |= set((gzip.decompress(file.read()) if path.endswith(".gz") else file.read()).decode().splitlines())
    except (EOFError, OSError, zlib.error):
        continue  # half a file is fine if its lines are elsewhere
if lost := [number for number in range(1, 401) if f"line {number}" not in found]:
    sys.exit(f"{len(lost)} lines are lost")
command = ["logrotate", "--debug", "--state", f"{FOLDER}/status", "/dev/null"]
done = subprocess.run(command, capture_output=True, text=True)
if "error: " in done.stderr:
    sys.exit(f"the state: {done.stderr.strip()}")

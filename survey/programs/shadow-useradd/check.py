"""Every line of the four files is whole, root and the users that were added are there, and the next can be added."""

import os
import subprocess
import sys

FOLDER = os.environ["POWERCUT_DIR"]
FIELDS = {"passwd": 7, "shadow": 9, "group": 4, "gshadow": 4}
with open(os.environ["POWERCUT_ACKED"]) as acked:
    added = [line.split()[1] for line in acked if line.endswith("\n")]


def names(file: str) -> list[str]:
    """The names in a file whose lines are whole."""
    with open(os.path.join(FOLDER, "etc", file), errors="replace") as lines:
        entries = [line.removesuffix("\n").split(":") for line in lines]
    if broken := [entry for entry in entries if len(entry) != FIELDS[file]]:
        sys.exit(f"{file} has a broken line: {broken[0]}")
    return [entry[0] for entry in entries]


for file in FIELDS:
    if lost := {"root", *added} - set(names(file)):
        sys.exit(f"not in {file}: {', '.join(sorted(lost))}")
done = subprocess.run(["useradd", "--prefix", FOLDER, "--no-create-home", "carol"], capture_output=True, text=True)
if done.returncode:
    sys.exit(f"no user can be added any more: {done.stderr.strip()}")

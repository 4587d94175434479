"""Every line of the four files is whole; root is there, and so are the users that were added, or can be added again."""

import os
import subprocess
import sys

FOLDER = os.environ["POWERCUT_DIR"]
FIELDS = {"passwd": 7, "shadow": 9, "group": 4, "gshadow": 4}


def names(file: str) -> set[str]:
    """The names in a file whose lines are whole."""
    with open(os.path.join(FOLDER, "etc", file), errors="replace") as lines:
        entries = [line.removesuffix("\n").split(":") for line in lines]
    if broken := [entry for entry in entries if len(entry) != FIELDS[file]]:
        sys.exit(f"{file} has a broken line: {broken[0]}")
    return {entry[0] for entry in entries}


with open(os.environ["POWERCUT_ACKED"]) as acked:
    if "added\n" not in acked.readlines():
        command = ["systemd-sysusers", f"--root={FOLDER}", sys.argv[1]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"users can not be added again: {done.stderr.strip()}")
for file in FIELDS:
    if lost := {"root", "alice", "bob"} - names(file):
        sys.exit(f"not in {file}: {', '.join(sorted(lost))}")

"""The environment can be read, the value of before is there, and so is each that was set."""

import os
import subprocess
import sys

command = ["grub-editenv", os.path.join(os.environ["POWERCUT_DIR"], "grubenv"), "list"]
done = subprocess.run(command, capture_output=True, text=True)
if done.returncode or "saved_entry=Debian" not in done.stdout.splitlines():
    sys.exit(f"not readable: {(done.stderr or done.stdout).strip()!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    if "set\n" in acked.readlines() and "next_entry=Rescue" not in done.stdout.splitlines():
        sys.exit("set and lost")

"""The module that was there before can be found by its name."""

import os
import subprocess
import sys

command = ["modprobe", "-d", os.environ["POWERCUT_DIR"], "-S", "6.0", "--show-depends", "one"]
done = subprocess.run(command, capture_output=True, text=True)
if done.returncode or "one.ko" not in done.stdout:
    sys.exit(f"modprobe: {done.stderr.strip() or done.stdout.strip()}")

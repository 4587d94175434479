"""The settings can be read, and the one that nobody changed is there."""

import os
import subprocess
import sys

command = ["git", "config", "--file", os.path.join(os.environ["POWERCUT_DIR"], "config"), "--list"]
done = subprocess.run(command, capture_output=True, text=True)
if done.returncode or "remote.origin.url=https://example.org/repository" not in done.stdout.splitlines():
    sys.exit(f"the address of the remote is gone: {(done.stderr or done.stdout).strip()!r}")

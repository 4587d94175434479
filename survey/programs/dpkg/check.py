"""An upgrade that was acknowledged is there, and nothing is left to be done; one that was not can be repeated."""

import os
import subprocess
import sys

DEB = sys.argv[1]


def dpkg(*words: str) -> str:
    """What dpkg says; if it fails, the check has."""
    options = [f"--root={os.environ['POWERCUT_DIR']}", "--log=/dev/null", "--force-not-root", "--force-bad-path"]
    done = subprocess.run(["dpkg", *options, *words], capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"dpkg {words[0]}: {(done.stderr or done.stdout).strip().splitlines()[0]}")
    return done.stdout


with open(os.environ["POWERCUT_ACKED"]) as acked:
    dpkg(*(["--configure", "-a"] if "installed 2\n" in acked.readlines() else ["-i", DEB]))
if not dpkg("-l", "app").splitlines()[-1].startswith("ii  app            2"):
    sys.exit("version 2 is not installed")
if wrong := dpkg("--verify", "app"):
    sys.exit(f"installed, and not as it was packed: {wrong}")

"""Use the repository as people do after a restart: it must be sound and hold every commit that was printed."""

import os
import subprocess
import sys

os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)
os.environ["GIT_CEILING_DIRECTORIES"] = os.path.abspath("..")  # never a repository around this one


def git(*arguments: str) -> str:
    """Run git and return what it printed; if it fails, so does the check."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


with open(os.environ["POWERCUT_ACKED"]) as acked:
    commits = [line.split()[1] for line in acked if line.endswith("\n")]
if not commits:
    sys.exit(0)  # nothing was promised yet
git("fsck", "--full", "--no-progress")
git("status", "--porcelain")
history = git("rev-list", "HEAD").split()
if lost := [commit for commit in commits if commit not in history]:
    sys.exit(f"committed and lost: {lost}")

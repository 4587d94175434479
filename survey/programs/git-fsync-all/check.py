"""The repository must be sound and its branch hold every commit that was made."""

import os
import subprocess
import sys


def git(*words: str) -> str:
    """What git says; if it fails, the check has."""
    done = subprocess.run(["git", *words], cwd=os.environ["POWERCUT_DIR"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {words[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return done.stdout


with open(os.environ["POWERCUT_ACKED"]) as acked:
    committed = [f"commit {line.split()[1]}" for line in acked if line.endswith("\n")]
subjects = git("log", "--format=%s", "main").splitlines()
if lost := [subject for subject in ["commit 0", *committed] if subject not in subjects]:
    sys.exit(f"committed and lost: {lost}")
git("fsck", "--full", "--no-dangling", "--no-progress", "--no-reflogs")
if (text := git("show", "main:notes.txt")) != f"version {subjects[0].split()[1]}\n":
    sys.exit(f"the file of {subjects[0]} holds {text!r}")

"""Recover as hg says, if a transaction was interrupted: the repository must be sound and hold the commit of before.

Nobody promises that the new one is durable: hg syncs nothing.
"""

import io
import os
import sys

from mercurial import dispatch

os.environ |= {"HGRCPATH": "", "HGPLAIN": "1"}
FOLDER = os.environ["POWERCUT_DIR"]


def hg(*words: str) -> str:
    """What hg says; if it fails, the check has."""
    out, err = io.BytesIO(), io.BytesIO()
    status = dispatch.dispatch(dispatch.request([word.encode() for word in ("-R", FOLDER, *words)], fout=out, ferr=err))
    if status:
        sys.exit(f"hg {words[0]}: {(err.getvalue() or out.getvalue()).decode().strip()}")
    return out.getvalue().decode()


if os.path.exists(f"{FOLDER}/.hg/store/journal"):
    hg("recover")
hg("verify", "-q")
subjects = hg("log", "-T", "{desc}\n").splitlines()
if "commit 0" not in subjects:
    sys.exit("the commit of before is lost")
if (text := hg("cat", "-r", "tip", f"{FOLDER}/notes.txt")) != f"version {subjects[0].split()[1]}\n":
    sys.exit(f"the file of {subjects[0]} holds {text!r}")

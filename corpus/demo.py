"""Two small programs with mistakes that people make, and what powercut says about them.

Exit status 0 means that powercut found just what these programs are known to do wrong. Before: the folder of an earlier
demo may be there. After: that of this one is, so that the commands on the screen work.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from harness import CORPUS, POWERCUT, build, check_command, powercut_test

DEMO = CORPUS / "demo"
FOLDER = CORPUS.parent / "build" / "demo"
MARKER = "made-by-powercut-demo"  # only a folder with this file is ever removed


def show(text: str, source: Path, check: Path, expected: Sequence[str], folder: Path) -> bool:
    """Run powercut on one program, its report on the terminal; True if it found the expected kinds of mistakes."""
    print(f"\n── {source.name}: {text}\n", flush=True)
    data = folder / source.stem
    data.mkdir()
    run = powercut_test(build(source, folder), check_command(check), data, inside=True, quiet=False)
    found = sorted(finding.kind for finding in run.findings)
    if found != sorted(expected):
        print(f"\nexpected the findings {sorted(expected)}, got {found} (exit status {run.code})", file=sys.stderr)
        return False
    return True


def empty_folder() -> Path:
    """The folder of the demo, without what an earlier one left."""
    if (FOLDER / MARKER).exists():
        shutil.rmtree(FOLDER)
    if FOLDER.exists():
        sys.exit(f"{FOLDER} was not made by the demo: move it away first.")
    FOLDER.mkdir(parents=True)
    (FOLDER / MARKER).touch()
    return FOLDER


def main() -> int:
    """Show both programs."""
    folder = empty_folder()
    settings = show(
        'writes a new file, renames it into place and prints "saved". It looks careful; what is missing?',
        DEMO / "settings.py",
        DEMO / "settings_check.py",
        ["unpersisted", "durability"],
        folder,
    )
    log = show(
        "a key-value log with a count at its head. It syncs before it reports, yet one line is in the wrong place.",
        DEMO / "kv.c",
        DEMO / "kv_check.py",
        ["atomicity"],
        folder,
    )
    where = shlex.quote(os.path.relpath(folder))
    print(f"\n── Both runs are kept in {where}. To try the commands from above, for example:")
    print(f"  export PATH={shlex.quote(str(POWERCUT.parent))}:$PATH")
    print(f"  cd {where}/settings && {POWERCUT.name} show")
    return 0 if settings and log else 1


if __name__ == "__main__":
    sys.exit(main())

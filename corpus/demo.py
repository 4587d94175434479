"""Two small programs with mistakes that people make, and what powercut says about them.

Exit status 0 means that powercut found just what these programs are known to do wrong.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import CORPUS, build, check_command, powercut_test

DEMO = CORPUS / "demo"


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


def main() -> int:
    """Show both programs."""
    with tempfile.TemporaryDirectory(prefix="powercut-demo-") as name:
        settings = show(
            'writes a new file, renames it into place and prints "saved". It looks careful; what is missing?',
            DEMO / "settings.py",
            DEMO / "settings_check.py",
            ["unpersisted", "durability"],
            Path(name),
        )
        log = show(
            "a key-value log with a count at its head. It syncs before it reports, yet one line is in the wrong place.",
            DEMO / "kv.c",
            DEMO / "kv_check.py",
            ["atomicity"],
            Path(name),
        )
    return 0 if settings and log else 1


if __name__ == "__main__":
    sys.exit(main())

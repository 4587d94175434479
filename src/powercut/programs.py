"""Programs of this machine: where one is, as the shell would find it, and what a running one has started."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from powercut.errors import EnvironmentFailure


def find_program(name: str, cwd: Path) -> str:
    """Where a program is, as the shell would find it."""
    path = cwd / name
    found = shutil.which(name if os.sep not in name else str(path))
    if found is not None:
        return name if os.sep in name else found
    mode = 0
    with suppress(OSError):  # a name that is too long is the name of nothing
        mode = path.stat().st_mode
    if os.sep in name and stat.S_ISREG(mode):
        hint = "Make it executable with chmod +x, or put its interpreter in front."
        raise EnvironmentFailure("not-executable", f"{name!r} is not executable.", hint)
    if os.sep in name and stat.S_ISDIR(mode):
        raise EnvironmentFailure("no-such-program", f"{name!r} is a folder, not a program.")
    hint = "Is it in your PATH?" if os.sep not in name else ""
    if stat.S_ISREG(mode):
        hint = f"Did you mean ./{name}?"
    elif " " in name:
        hint = "Give the program and its arguments as separate words, not in one pair of quotes."
    raise EnvironmentFailure("no-such-program", f"cannot find the program {name!r}.", hint)


def descendants(pid: int) -> list[int]:
    """All processes below one, by the kernel's list of parents."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(folder.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found

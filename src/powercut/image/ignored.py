"""Names in a data folder that are no data: what tools make anew, and what belongs to tools.

Programs and checks see them; what a program changes in them is not recorded, and no crash state is made of it. A
pattern (as of the shell) is of names at any depth or, with a slash in it, of whole paths below the data folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

DEFAULT = "default"  # the word that stands for all of these
NONE = "none"
MOST = 256  # patterns, as in native/ptrace/trace/ignored.h
REPOSITORIES = (".git", ".hg", ".svn")  # only those that are there before the program: what it makes is its data
PATTERNS = (
    "__pycache__",
    "*.pyc",
    *REPOSITORIES,
    ".venv",
    ".tox",
    ".nox",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "node_modules",
    "npm-debug.log*",
    "hsperfdata_*",
    "hs_err_pid*.log",
    "gc.log*",
    "isolate0x*-v8.log",
    "isolate-0x*-v8.log",
    "perf-[0-9]*.map",
    "jit-[0-9]*.dump",
    ".powercut",
)

# What processes share through mappings while they run, and make anew when the first of them starts: SQLite's index of
# its log, the regions of Berkeley DB, LMDB's table of readers. As in native/ptrace/calls/mappings.c.
MADE_ANEW = ("*-shm", "__db.[0-9][0-9][0-9]", "lock.mdb")


def patterns_in(text: str, folder: Path | None = None) -> tuple[str, ...]:
    """The patterns of a setting, in which they are separated by commas; `ValueError` for what cannot be one.

    `folder` is the data folder, if it is known.
    """
    found: dict[str, None] = {}
    for word in (part.strip() for part in text.split(",")):
        if word == DEFAULT:
            made_later = [] if folder is None else [name for name in REPOSITORIES if not (folder / name).exists()]
            found |= dict.fromkeys(name for name in PATTERNS if name not in made_later)
        elif not word or word.startswith("/") or "\0" in word:
            raise ValueError(f"{word!r} is no pattern of names below the data folder")
        elif word != NONE:
            found[word] = None
    if len(found) > MOST:
        raise ValueError(f"there are more than {MOST} patterns")
    return tuple(found)


def leaves_out(patterns: Sequence[str], path: str) -> bool:
    """Whether patterns leave a path out, or a folder above it."""
    parts = path.split("/")
    wholes = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(
        fnmatchcase(whole if "/" in pattern else name, pattern)
        for name, whole in zip(parts, wholes, strict=True)
        for pattern in patterns
    )


def is_made_anew(path: bytes) -> bool:
    """Whether a file only holds what processes share while they run: its stores need not be seen."""
    return leaves_out(MADE_ANEW, os.fsdecode(path.rpartition(b"/")[2]))

"""What saved runs take on the disk, and removing old ones.

Before: a folder of saved runs. After `clean`: the newest runs are left, and those that are still being made; of the
others only folders are gone that powercut made, which their names and what lies in them tell.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from powercut.errors import EnvironmentFailure, UsageError
from powercut.quick_dataclass import dataclass
from powercut.runs.run_plan import sole_run
from powercut.runs.store import NUMBER, PLAN, SYNCS, numbered_runs
from powercut.search.verdict_cache import NAME as VERDICTS

LARGE = 500 << 20  # bytes of saved runs that somebody should know of
_OURS = ("run.json", PLAN, SYNCS, "trace")
_FRESH = 3600.0  # seconds: a run without a plan may still be recorded for so long
_IGNORE = "# powercut keeps runs and cached verdicts here; `powercut clean` removes them.\n*\n"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was removed, and what was not.

    Attributes:
        freed: bytes.
        kept: runs that were to be left.
        in_use: runs that are still being made.
    """

    removed: int
    freed: int
    kept: int
    in_use: int


def size_of(folder: Path) -> int:
    """How many bytes a folder takes on its disk; what vanishes meanwhile takes none."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += 512 * Path(path, name).lstat().st_blocks
    return total


def bytes_text(count: int) -> str:
    """A size for people."""
    if count < 1 << 20:
        return f"{-(-count // 1024)} kB"
    return f"{count / (1 << 20):,.0f} MB"


def hide_from_git(output: Path, *, made: bool) -> None:
    """Keep saved runs out of repositories; `made`: powercut made the folder just now. Others are left as they are."""
    if made or output.name == ".powercut":
        with suppress(OSError), open(output / ".gitignore", "x") as file:
            file.write(_IGNORE)


def clean(output: Path, keep: int) -> Cleaned:
    """Remove all runs but the newest; with the last one go the cached verdicts."""
    if not output.is_dir():
        raise UsageError("no-run", f"no saved run in {output}.", "Give --output DIR if they are elsewhere.")
    before = size_of(output)
    runs = [folder for folder in numbered_runs(output) if _is_ours(folder)]
    removed = in_use = 0
    for folder in runs[keep:]:
        if _is_in_use(folder):
            in_use += 1
            continue
        _remove(folder)
        removed += 1
    left = len(runs[:keep])
    if not left and not in_use:
        for path in output.glob(f"{VERDICTS}*"):
            path.unlink(missing_ok=True)
    return Cleaned(removed, max(0, before - size_of(output)), left, in_use)


def _is_ours(folder: Path) -> bool:
    """Whether a folder is that of a run: a folder itself, with a run's name, that holds a part of a run or nothing."""
    if folder.is_symlink() or not folder.is_dir() or not re.fullmatch(NUMBER, folder.name):
        return False
    names = {path.name for path in folder.iterdir()}
    return not names or not names.isdisjoint(_OURS)


def _is_in_use(folder: Path) -> bool:
    if not (folder / PLAN).is_file():
        unfinished = not (folder / "run.json").is_file() and not (folder / SYNCS).is_file()
        return unfinished and time.time() - folder.stat().st_mtime < _FRESH
    try:
        with sole_run(folder):
            return False
    except UsageError:
        return True


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        what = f"cannot remove {folder}: {error.strerror}."
        raise EnvironmentFailure("output-unwritable", what) from error

"""What a service needs to write its log: a log in order, and an environment that tells the library where it is.

Before: a folder, which may hold a log that nobody writes, and pools that nobody uses. After: the log explains what the
pools hold, and the library will go on behind its last record. That takes time in proportion to the log, which is kept
small while services run (`shrinking`), never here. A log that cannot be written is no reason not to start: without room
for it, the service runs unguarded this time, and that is said.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure, UsageError
from powercut.guard.housekeeping import sweep
from powercut.guard.integrity import require_bases
from powercut.guard.log_folder import nobody_adds
from powercut.guard.present import read_present
from powercut.guard.writing import catch_up

_LIBRARY = Path(_engine.__file__).parent / "_native" / "lib" / "libpowercut_guard.so"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
Say = Callable[[str], None]


def make_folder(folder: Path) -> None:
    """The folder of a log, without what a supervisor left in it that was killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
    except OSError as error:
        message = f"cannot create the log in {folder}: {error.strerror}."
        raise UsageError("guard-folder", message, "Choose another folder with --log.") from error


def environment(folder: Path, pools: Sequence[Path], say: Say) -> dict[str, str]:
    """What the library needs to know; the log is put in order first."""
    if not _LIBRARY.exists() or set(" :") & set(str(_LIBRARY)):
        message = f"the library {_LIBRARY} is missing, or its path contains a space or a colon."
        raise EnvironmentFailure("guard-library", message, "Install powercut again, in a path without these.")
    preload = " ".join(filter(None, (str(_LIBRARY), os.environ.get("LD_PRELOAD"))))
    given = {"LD_PRELOAD": preload, "POWERCUT_GUARD": str(folder), "POWERCUT_GUARD_NEXT": "1 1"}
    given["POWERCUT_GUARD_POOLS"] = "\n".join(map(str, pools))
    if any(folder.glob("*.segment")):
        with nobody_adds(folder), _room(folder):
            known, next_numbers = _catch_up(folder, say)
            given["POWERCUT_GUARD_KNOWN"] = "\n".join(known)
            given["POWERCUT_GUARD_NEXT"] = "{} {}".format(*next_numbers)
    return given


class NoRoomError(Exception):
    """There is no room to put a log in order."""


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise NoRoomError(f"{folder}: {error.strerror}") from error


def _catch_up(folder: Path, say: Say) -> tuple[list[str], tuple[int, int]]:
    """Write down what pools hold that the log does not explain; lines that name them and their files, and what is free.

    The log is read once; not what made the pools what they are: no start needs that.
    """
    log, known = read_present(folder), []
    segment, sequence = log.next_numbers
    hint = "Restore the log from a copy, or begin a new one: give another folder with --log."
    require_bases((held.pool for held in log.pools.values()), hint)
    for number, held in log.pools.items():
        pool = held.pool
        if not pool.path.exists() or not held.is_of_this_pool():
            known.append(f"{number} 0 0")  # no file is this one, and no other pool gets its number
            continue
        found = catch_up(held, folder, (segment, sequence))
        if found:
            changes = f"{found} changes" if found > 1 else "1 change"
            say(f"{pool.path}: logged {changes} made without guard or just before the service died")
            segment, sequence = segment + 1, sequence + found
        facts = pool.path.stat()
        known.append(f"{number} {facts.st_dev} {facts.st_ino}")
    return known, (segment, sequence)

"""A copy of a pool that libpmemobj may change, and what it changed.

Before: a pool that is to stay as it is. After: the copy is gone; what differed in it is known.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.guard.history import History
from powercut.heal.objects import list_objects
from powercut.heal.reversion import Patch

_BLOCK, _LINE = 4096, 64


class copy_of:
    """A copy of a pool in a folder of its own, gone afterwards."""

    def __init__(self, pool: Path) -> None:
        self._pool = pool

    def __enter__(self) -> copy_of:
        self._folder = tempfile.TemporaryDirectory(prefix="powercut-heal-")
        self.file, self.notes = Path(self._folder.name, "pool"), Path(self._folder.name, "offsets")
        shutil.copyfile(self._pool, self.file)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def differences(self) -> Iterator[Patch]:
        """Where the copy is not what the pool is, in cache lines."""
        with self._pool.open("rb") as one, self.file.open("rb") as two:
            for at in range(0, self.file.stat().st_size, _BLOCK):
                old, new = one.read(_BLOCK), two.read(_BLOCK)
                if old != new:
                    yield from _lines(at, old, new)


def _lines(at: int, old: bytes, new: bytes) -> Iterator[Patch]:
    for start in range(0, len(old), _LINE):
        was, now = old[start : start + _LINE], new[start : start + _LINE]
        if was != now:
            yield Patch(at + start, was, now)


def recovery(history: History) -> list[Patch]:
    """What libpmemobj's own recovery changes in a pool's objects when it is opened, and all that goes with it.

    A service that died in the middle of a transaction leaves its undo log in the pool. What is taken back before that
    is undone would be written over by it.
    """
    if not history.private:
        return []
    try:
        with copy_of(history.pool.path) as copy:
            list_objects(copy.file)
            changed = list(copy.differences())
    except EnvironmentFailure:
        return []  # it cannot be opened: the restart will say why
    return changed if any(patch.offset >= history.private.stop for patch in changed) else []

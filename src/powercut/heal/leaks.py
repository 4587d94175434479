"""Objects of a pool that nobody can reach any more, and the pool without them.

Before: a pool of libpmemobj and its log. After: the objects that are allocated and to which no path leads from the
root, with the line that allocated each, where the log knows it; on demand, what to write into the pool so that they
are freed. Whatever looks like the address of an object counts as a way to it: a word that holds its offset, or one
inside it, as in PMDK's object ids. So a leak may be missed; what a service reaches by other means (an offset that it
computes) may look like one: that is why the restart must pass without them, and the operator is asked.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.objects import free_objects, list_objects
from powercut.heal.reversion import Patch

_BLOCK = 4096
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Leak:
    """An object that nobody reaches.

    Attributes:
        record: that tells of its allocation; None: it is older than the log.
    """

    offset: int
    size: int
    record: int | None


def find_leaks(history: History) -> list[Leak]:
    """The objects of a pool that cannot be reached, by their place."""
    with _copy_of(history.pool.path) as copy:
        root, *objects = list_objects(copy.file)
        content = np.fromfile(copy.file, "<u8", copy.file.stat().st_size // 8).astype(np.int64)
    if not objects:
        return []
    table = np.array(sorted(objects), dtype=np.int64)
    reached = _reached(content, root, table[:, 0], table[:, 0] + table[:, 1])
    known = _allocations(history)
    return [Leak(at, size, known.get(at)) for at, size in table[~reached].tolist()]


def without(pool: Path, leaks: list[Leak]) -> list[Patch]:
    """What to write into a pool so that objects are freed."""
    with _copy_of(pool) as copy:
        free_objects(copy.file, [leak.offset for leak in leaks], copy.notes)
        return list(_differences(pool, copy.file))


def _reached(content: Numbers, root: tuple[int, int], starts: Numbers, ends: Numbers) -> npt.NDArray[np.bool_]:
    """Which objects are reached from the root."""
    reached = np.zeros(len(starts), dtype=np.bool_)
    waiting = [root]
    while waiting:
        start, size = waiting.pop()
        words = content[start // 8 : (start + size) // 8]
        holder = np.searchsorted(starts, words, side="right") - 1
        inside = (holder >= 0) & (words < ends[holder])
        for number in np.unique(holder[inside]).tolist():
            if not reached[number]:
                reached[number] = True
                waiting.append((int(starts[number]), int(ends[number] - starts[number])))
    return reached


def _allocations(history: History) -> dict[int, int]:
    """The record of the last allocation at each place."""
    log = history.log
    made = log.of_kind(RecordKind.ALLOCATE)
    mine = made[log.pool_of[made] == history.pool.number]
    return dict(zip(log.records["offset"][mine].tolist(), mine.tolist(), strict=True))


def _differences(before: Path, after: Path) -> Iterator[Patch]:
    with before.open("rb") as one, after.open("rb") as two:
        at = 0
        while old := one.read(_BLOCK):
            new = two.read(_BLOCK)
            if old != new:
                yield Patch(at, old, new)
            at += len(old)


class _copy_of:
    """A copy of a pool in a folder of its own, gone afterwards."""

    def __init__(self, pool: Path) -> None:
        self._pool = pool

    def __enter__(self) -> _copy_of:
        self._folder = tempfile.TemporaryDirectory(prefix="powercut-heal-")
        self.file, self.notes = Path(self._folder.name, "pool"), Path(self._folder.name, "offsets")
        shutil.copyfile(self._pool, self.file)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

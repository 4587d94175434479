"""Objects of a pool that nothing can reach any more, and the pool without them.

Before: a pool of libpmemobj and its log, and which of its objects the restart touched. After: the objects that are
allocated and were not reached, with the line that allocated each, where the log knows it; on demand, what to write into
the pool so that they are freed.

Reached is what a path leads to from the root, or from an object that the recovery touched. Whatever looks like the
address of an object counts as a path: a word that holds its offset, or one inside it, as in PMDK's object ids. So a
leak may be missed; but what a service finds by other means (by its type number, by an offset that it computes) is none,
as long as the recovery touches it. `Rule.TOUCHES` asks for more: there only what the recovery touched was reached,
whatever paths lead elsewhere. That is the paper's rule, for services whose recovery visits all they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.copies import copy_of
from powercut.heal.objects import free_objects, list_objects
from powercut.heal.reversion import Patch
from powercut.heal.taint import LabelRange
from powercut.quick_dataclass import dataclass

Numbers = npt.NDArray[np.int64]


class Rule(Enum):
    """How objects are reached: by touches of the recovery and paths from there, or by touches alone."""

    PATHS = 1
    TOUCHES = 2


@dataclass(frozen=True, slots=True)
class Leak:
    """An object that nobody reaches.

    Attributes:
        record: that tells of its allocation; None: it is older than the log.
    """

    offset: int
    size: int
    record: int | None


class Allocated:
    """All objects of a pool, in the order of their places, which is their number."""

    def __init__(self, root: tuple[int, int], objects: Iterable[tuple[int, int]], content: Numbers) -> None:
        """Offset and size of the root and of each object, and what the pool holds, in words of 8 bytes."""
        table = np.array(sorted(objects), dtype=np.int64).reshape(-1, 2)
        self._starts, self._ends = table[:, 0], table[:, 0] + table[:, 1]
        self._root, self._content = root, content

    def __len__(self) -> int:
        return len(self._starts)

    def labels(self, file: Path) -> list[LabelRange]:
        """Where the objects are in a copy of the pool."""
        inode = file.stat().st_ino
        places = zip(self._starts.tolist(), self._ends.tolist(), strict=True)
        return [LabelRange(inode, start, end - start, number) for number, (start, end) in enumerate(places)]

    def leaked(self, touched: Iterable[int], rule: Rule) -> list[tuple[int, int]]:
        """Places and sizes of objects that are not reached."""
        reached = np.zeros(len(self), dtype=np.bool_)
        reached[[number for number in touched if 0 <= number < len(self)]] = True
        if rule is Rule.PATHS:
            self._follow(reached)
        return list(zip(self._starts[~reached].tolist(), (self._ends - self._starts)[~reached].tolist(), strict=True))

    def _follow(self, reached: npt.NDArray[np.bool_]) -> None:
        """Add what paths lead to, from the root and from what is reached."""
        waiting = [self._root, *(self._extent(number) for number in np.flatnonzero(reached).tolist())]
        while waiting and len(self):
            start, size = waiting.pop()
            words = self._content[start // 8 : (start + size) // 8]
            holder = np.searchsorted(self._starts, words, side="right") - 1
            inside = (holder >= 0) & (words < self._ends[holder])
            for number in distinct(holder[inside]).tolist():
                if not reached[number]:
                    reached[number] = True
                    waiting.append(self._extent(number))

    def _extent(self, number: int) -> tuple[int, int]:
        return int(self._starts[number]), int(self._ends[number] - self._starts[number])


def find_leaks(history: History, touched: Callable[[Allocated], Iterable[int]], rule: Rule) -> list[Leak]:
    """The objects of a pool that are not reached, by their place; `touched` says which ones the recovery touches."""
    with copy_of(history.pool.path) as copy:
        root, *objects = list_objects(copy.file)
        content = np.fromfile(copy.file, "<u8", copy.file.stat().st_size // 8).astype(np.int64)
    allocated = Allocated(root, objects, content)
    if not objects:
        return []
    known = _allocations(history)
    return [Leak(at, size, known.get(at)) for at, size in allocated.leaked(touched(allocated), rule)]


def without(pool: Path, leaks: list[Leak]) -> list[Patch]:
    """What to write into a pool so that objects are freed."""
    with copy_of(pool) as copy:
        free_objects(copy.file, [leak.offset for leak in leaks], copy.notes)
        return list(copy.differences())


def _allocations(history: History) -> dict[int, int]:
    """The record of the last allocation at each place."""
    log = history.log
    made = log.of_kind(RecordKind.ALLOCATE)
    mine = made[log.pool_of[made] == history.pool.number]
    return dict(zip(log.records["offset"][mine].tolist(), mine.tolist(), strict=True))

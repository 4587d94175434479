"""The content of a pool at any moment of its log, and where the pool differs from the log.

Before: a log and one of its pools. After: the bytes of any range, as they are or as they would be without some of the
records; the records that made them; the ranges in which the file of today differs.

The content is the base with all changes written over, in order: old versions are found by overlap, not by address,
since one update may cover parts of many. An update counts where it made something what it is (`versions`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.guard.log import GuardLog, Pool
from powercut.guard.versions import versions_of

_AT_ONCE = 1 << 20  # bytes compared together
_BLOCK = 64  # differences are told in cache lines
_IDENTITY = (0, 56)  # of PMDK's pools: signature, version, the pool's unique numbers
_PMDK = b"PMEM"  # how the signature of any pool of PMDK begins
_SIGNATURE = b"PMEMOBJ\0"
_LANES_AND_HEAP = (5120, 5136)  # in the descriptor of a pool of libpmemobj


class History:
    """One pool through time."""

    def __init__(self, log: GuardLog, pool: Pool) -> None:
        self.log = log
        self.pool = pool
        self.pieces = versions_of(log, pool)
        self.changes = distinct(self.pieces.table["record"])

    def overlapping(self, start: int, end: int) -> npt.NDArray[np.int64]:
        """The changes that touch a range, oldest first, as indices of records."""
        return distinct(self.pieces.table["record"][self.pieces.touching(start, end)])

    @property
    def updates(self) -> int:
        """How many changes there are, those that are there in parts as one."""
        return len(distinct(self.log.records["sequence"][self.changes]))

    def parts_of(self, record: int) -> list[int]:
        """A change with its other parts: of some, reclaiming the log has left more than one."""
        same = self.log.records["sequence"][self.changes] == self.log.records["sequence"][record]
        parts: list[int] = self.changes[same].tolist()
        return parts

    def reaches(self, record: int) -> bool:
        """Whether all that happened since a record is still there, so that it can be undone."""
        return int(self.log.records["sequence"][record]) > self.log.folded

    def content(self, start: int, end: int, without: Container[int] = ()) -> bytes:
        """A range as it would be if some records (indices) had never been."""
        return self.pieces.content(start, end, without)

    def before(self, record: int, start: int, end: int, without: Container[int] = ()) -> bytes:
        """A range as it was just before a record, if some had never been."""
        return self.pieces.content_before(record, start, end, without)

    def is_of_this_pool(self) -> bool:
        """Whether the file is the one that the log tells of, and no other that has its name.

        A file that the program maps itself carries no number that could tell; a pool of PMDK does once it is made.
        """
        identity, there = self.content(*_IDENTITY), self._identity_in_file()
        if not identity.startswith(_PMDK):
            return self.pool.path.is_file() and not there.startswith(_PMDK)
        return there == identity

    def _identity_in_file(self) -> bytes:
        try:
            with self.pool.path.open("rb") as file:
                return file.read(_IDENTITY[1])[_IDENTITY[0] :]
        except OSError:
            return b""

    @cached_property
    def private(self) -> range:
        """Where libpmemobj notes what is under way: of use to nobody but itself."""
        if self.content(0, len(_SIGNATURE)) != _SIGNATURE:
            return range(0)
        lanes, heap = (int.from_bytes(self.content(at, at + 8), "little") for at in _LANES_AND_HEAP)
        return range(lanes, heap)

    def differences(self, of: Path | None = None) -> Iterator[tuple[int, bytes]]:
        """Where the file is not what the log says, and what it holds there: in whole cache lines, runs together."""
        with (of or self.pool.path).open("rb") as file:
            size = file.seek(0, 2)
            for start in range(0, size, _AT_ONCE):
                end = min(start + _AT_ONCE, size)
                file.seek(start)
                now, then = file.read(end - start), self.content(start, end)
                if now != then:
                    different = _different(start, now, then)
                    yield from ((at, data) for at, data in different if at not in self.private)


def _different(start: int, now: bytes, then: bytes) -> Iterator[tuple[int, bytes]]:
    lines = range(0, len(now), _BLOCK)
    changed = [i for i in lines if now[i : i + _BLOCK] != then[i : i + _BLOCK]]
    run: list[int] = []
    for line in [*changed, len(now) + _BLOCK]:
        if run and line != run[-1] + _BLOCK:
            yield start + run[0], now[run[0] : run[-1] + _BLOCK]
            run = []
        run.append(line)

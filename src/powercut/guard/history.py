"""The content of a pool at any moment of its log, and where the pool differs from the log.

Before: a log and one of its pools. After: the bytes of any range, as they are or as they would be without some of the
records; the records that made them; the ranges in which the file of today differs.

The content is the base with all changes written over, in order: old versions are found by overlap, not by address,
since one update may cover parts of many. An update counts where it made something what it is (`versions`).
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.guard.held import Held
from powercut.guard.log import GuardLog, Pool
from powercut.guard.versions import versions_of


class History(Held):
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

    def now(self, start: int, end: int) -> bytes:
        """A range as it is by the log."""
        return self.content(start, end)

"""What a pool held, as pieces of records laid over its base, oldest first.

Before: a log, and pieces of records of one pool. After: the bytes of any range, with all pieces or without those of
some records; the records that made them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from powercut.guard.log import GuardLog, Pool

PIECE = np.dtype([("record", "<i8"), ("start", "<i8"), ("end", "<i8")])
Piece = tuple[int, int, int]
_BLOCK = 512  # the unit of st_blocks
_AT_ONCE = 1 << 20  # bytes


class Pieces:
    """The pieces of one pool.

    Attributes:
        now: what the pool holds with all pieces, as far as its base goes; kept by who adds them.
    """

    def __init__(self, log: GuardLog, pool: Pool) -> None:
        self._log = log
        self._pool = pool
        self._parts = [np.empty(0, PIECE)]
        self.now: npt.NDArray[np.uint8] = content_of(pool.base)
        log.lay_reclaimed(pool, self.now, 0)

    @property
    def table(self) -> np.ndarray:
        """As `PIECE`, in the order of their records: the index of the record, and the bytes of the pool."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    def add(self, newer: np.ndarray) -> None:
        """Further pieces, of later records."""
        self._parts.append(newer)

    def replace(self, rows: Sequence[int], new: Iterable[Piece]) -> None:
        """Put other pieces in the place of some."""
        together = np.concatenate([np.delete(self.table, rows), np.array(list(new), PIECE)])
        self._parts = [together[np.argsort(together["record"], kind="stable")]]

    def touching(self, start: int, end: int, since: int = 0, until: int | None = None) -> npt.NDArray[np.int64]:
        """The rows that touch a range, of records since one and before another."""
        low = int(np.searchsorted(self.table["record"], since))
        high = int(np.searchsorted(self.table["record"], until)) if until is not None else len(self.table)
        part = self.table[low:high]
        return low + np.flatnonzero((part["start"] < end) & (part["end"] > start))

    def content(self, start: int, end: int, without: Container[int] = ()) -> bytes:
        """A range as it would be if some records had never been."""
        if not without and end <= len(self.now):
            return self.now[start:end].tobytes()
        content = self.at_first(start, end)
        for piece in self.table[self.touching(start, end)].tolist():
            if piece[0] not in without:
                self.lay(piece, content, start)
        return content.tobytes()

    def content_before(self, record: int, start: int, end: int, without: Container[int] = ()) -> bytes:
        """The same as it was before a record."""
        content = self.at_first(start, end)
        for piece in self.table[self.touching(start, end, until=record)].tolist():
            if piece[0] not in without:
                self.lay(piece, content, start)
        return content.tobytes()

    def authors(self, start: int, end: int) -> npt.NDArray[np.int64]:
        """For each byte of a range the record that made it what it is; -1: none."""
        made = np.full(end - start, -1)
        for record, low, high in self.table[self.touching(start, end)].tolist():
            made[max(low - start, 0) : high - start] = record
        return made

    def lay(self, piece: Piece, content: npt.NDArray[np.uint8], at: int) -> None:
        """Write a piece into a range that begins at some byte."""
        record, start, end = piece
        offset = int(self._log.records["offset"][record])
        low, high = max(start, at), min(end, at + len(content))
        data = self._log.part(record, low - offset, high - offset)
        content[low - at : high - at] = np.frombuffer(data, np.uint8)

    def at_first(self, start: int, end: int) -> npt.NDArray[np.uint8]:
        """A range as it was before all of them."""
        return np.frombuffer(self._log.base_of(self._pool, start, end), np.uint8).copy()


def content_of(path: Path) -> npt.NDArray[np.uint8]:
    """What a base holds, to be written over in memory.

    A file with holes is not mapped: on a full tmpfs, to look into a hole would end this process with SIGBUS.
    """
    facts = path.stat()
    if not facts.st_size:
        return np.empty(0, np.uint8)
    if facts.st_blocks * _BLOCK >= facts.st_size:
        return np.memmap(path, np.uint8, "c")
    content = np.zeros(facts.st_size, np.uint8)  # takes memory where it is written
    with path.open("rb", buffering=0) as file:
        for start, end in _extents(file.fileno(), facts.st_size):
            for at in range(start, end, _AT_ONCE):
                part = os.pread(file.fileno(), min(_AT_ONCE, end - at), at)
                content[at : at + len(part)] = np.frombuffer(part, np.uint8)
    return content


def _extents(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file holds data."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def runs(marked: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where the marked ones that follow each other begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

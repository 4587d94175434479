"""Which records of the log never became durable.

A record may be ahead of the pool: a kill or a power cut came between the two. A transaction may be logged and then
rolled back by libpmemobj, when it is aborted or when the pool is opened again. In both cases later records say what the
pool holds: `FOUND` by the next start, `RESTORE` by libpmemobj, in whole cache lines and whole ranges.

Before: the pieces of all changes so far, and such records. After: a word that they tell as it was has no new version
by that. One that is again what it was before records that may not have come true has that version, and those records
never were, in this word. All else is a new version, of which nobody knows who wrote it.

What may not have come true: what a thread wrote since it last waited for its writes to be durable; transactions that
did not commit. A rollback also undoes what was found and what was restored before.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from powercut.guard.log import GuardLog
from powercut.guard.pieces import PIECE, Pieces, runs

_WORD = 8
_WINDOW = 1 << 20  # bytes that are settled together
_NO_VERSION, _OLDER = -2, -1  # a word is new; is what it was before all records in question
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


class Settlement:
    """Some records that tell what a pool holds, and what that means for those before.

    `doubtful` tells of all records before them which may not have come true.
    """

    def __init__(
        self, log: GuardLog, pieces: Pieces, told: Numbers, doubtful: Bools, rolled_back: Bools | None
    ) -> None:
        self._log = log
        self._pieces = pieces
        self._doubtful = doubtful
        self._rolled_back = rolled_back
        self._since = int(doubtful.argmax()) if doubtful.any() else len(doubtful)
        self._gone: list[int] = []
        self._new: list[tuple[int, int, int]] = []
        self._told = np.empty(len(told), PIECE)
        self._told["record"], self._told["start"] = told, log.records["offset"][told]
        self._told["end"] = self._told["start"] + log.records["size"][told]

    def apply(self) -> list[tuple[int, int]]:
        """Put the pieces right; which ranges that was about."""
        windows = {at for _, start, end in self._told.tolist() for at in range(start // _WINDOW, -(-end // _WINDOW))}
        ranges = [self._settle(window * _WINDOW, (window + 1) * _WINDOW) for window in sorted(windows)]
        self._pieces.replace(self._gone, self._new)
        return ranges

    def _settle(self, low: int, high: int) -> tuple[int, int]:
        told = self._told[(self._told["start"] < high) & (self._told["end"] > low)]
        low = max(low, int(told["start"].min()) // _WORD * _WORD)
        high = min(high, -(-int(told["end"].max()) // _WORD) * _WORD)
        content, teller = np.zeros(high - low, np.uint8), np.full(high - low, _NO_VERSION)
        for record, start, end in told.tolist():
            self._pieces.lay((record, start, end), content, low)
            teller[max(start - low, 0) : end - low] = record
        rows = self._concerned(self._since, len(self._doubtful), teller != _NO_VERSION, low)
        version = self._versions(content, teller != _NO_VERSION, rows, low)
        self._keep_new(version, teller, low)
        void = (version != _NO_VERSION) & (teller != _NO_VERSION)
        for row in rows.tolist():
            self._cut(row, void, version, low)
        now, told_there = self._pieces.now[low:high], teller[: len(self._pieces.now[low:high])] != _NO_VERSION
        now[told_there] = content[: len(now)][told_there]
        return low, high

    def _concerned(self, since: int, until: int, told: Bools, low: int) -> Numbers:
        """The rows of some records that touch a word of which something is told."""
        rows = self._pieces.touching(low, low + len(told), since, until)
        words = np.concatenate([[0], np.cumsum(told.reshape(-1, _WORD).any(axis=1))])
        starts = np.maximum(self._pieces.table["start"][rows] - low, 0) // _WORD
        ends = -(-np.minimum(self._pieces.table["end"][rows] - low, len(told)) // _WORD)
        concerned: Numbers = rows[words[ends] > words[starts]]
        return concerned

    def _versions(self, content: np.ndarray, told: Bools, rows: Numbers, low: int) -> Numbers:
        """For each byte the newest record with which its word was what is told, if no later one is certain."""
        then = self._pieces.at_first(low, low + len(content))
        for piece in self._pieces.table[self._concerned(0, self._since, told, low)].tolist():
            self._pieces.lay(piece, then, low)
        version = np.where(_words_equal(then, content, told), _OLDER, _NO_VERSION)
        for row in rows.tolist():
            record, first, last = self._pieces.table[row].item()
            self._pieces.lay((record, first, last), then, low)
            start, end = max(first - low, 0) // _WORD * _WORD, -(-(last - low) // _WORD) * _WORD
            same = _words_equal(then[start:end], content[start:end], told[start:end])
            if not self._doubtful[record]:
                version[start:end] = _NO_VERSION
            elif self._rolled_back is not None and self._rolled_back[record]:
                same &= version[start:end] == _NO_VERSION
            version[start:end][same] = record
        return version

    def _keep_new(self, version: Numbers, teller: Numbers, low: int) -> None:
        by = np.where(version == _NO_VERSION, teller, _NO_VERSION)
        edges = [0, *(np.flatnonzero(np.diff(by)) + 1).tolist(), len(by)]
        new = ((int(by[start]), low + start, low + end) for start, end in pairwise(edges))
        self._new += [piece for piece in new if piece[0] != _NO_VERSION]

    def _cut(self, row: int, void: Bools, version: Numbers, low: int) -> None:
        """What is left of a piece without the bytes that are an older version."""
        record, start, end = self._pieces.table[row].item()
        first, last = max(start - low, 0), min(end - low, len(void))
        left = ~(void[first:last] & (version[first:last] < record))
        if left.all():
            return
        inside = [(low + first + a, low + first + b) for a, b in runs(left)]
        self._gone.append(row)
        self._new += [(record, a, b) for a, b in [(start, low + first), *inside, (low + last, end)] if a < b]


def _words_equal(a: np.ndarray, b: np.ndarray, told: Bools) -> Bools:
    """For each byte whether all bytes of its word that are told are the same."""
    same = ((a == b) | ~told).reshape(-1, _WORD).all(axis=1)
    return np.repeat(same, _WORD)

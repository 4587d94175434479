"""The versions of a pool's words, and who made them.

Before: the changes that a log tells of, as they came. After: pieces of them (`pieces`), such that each piece made its
words what they then were. A change that leaves a word as it was is not its author: programs persist whole objects of
which they changed one field, and the update to blame is the one that changed it. Only if nobody is known to have
written the word before (it was found, or PMDK's, or of an object that was freed) does it count as its author. What
never came true is left out (`settling`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.guard.log import CHANGE, CHANGES, GuardLog, Pool, RecordFlag, RecordKind
from powercut.guard.never_durable import Settlement
from powercut.guard.pieces import PIECE, Pieces

_UNKNOWN, _KNOWN, _CHANGER, _FREED = range(4)
_WORD = 8
_AT_ONCE = 1 << 17  # changes
Records = npt.NDArray[np.int64]


def versions_of(log: GuardLog, pool: Pool) -> Pieces:
    """The pieces of a pool's changes."""
    return _Replay(log, pool).run()


class _Replay:
    def __init__(self, log: GuardLog, pool: Pool) -> None:
        rows = log.of_kind(*CHANGES, RecordKind.FREE)
        self._rows = rows[(log.pool_of[rows] == pool.number) & (rows > log.record_of(pool))]
        self._log = log
        self._kinds = log.records["kind"]
        self._has_gaps = (log.records["flags_pool"] & RecordFlag.CHANGES) != 0
        self._restored = (log.records["flags_pool"] & RecordFlag.RESTORE) != 0
        self._tells = self._restored | (self._kinds == RecordKind.FOUND)
        self._is_own = np.isin(self._kinds, CHANGES) & ~(self._tells | log.is_library)
        self._pieces = Pieces(log, pool)
        self._known = np.zeros(-(-len(self._pieces.now) // _WORD), np.uint8)

    def run(self) -> Pieces:
        for rows in self._epochs():
            if not self._tells[rows[0]]:
                self._replay(rows)
            elif not self._is_void(rows):
                self._settle(rows)
        return self._pieces

    def _epochs(self) -> Iterator[Records]:
        """Changes that are alike: of the program and of PMDK; found; restored."""
        kinds = self._tells[self._rows].astype(np.int8) + self._restored[self._rows]
        yield from (part for part in np.split(self._rows, np.flatnonzero(np.diff(kinds)) + 1) if len(part))

    def _replay(self, rows: Records) -> None:
        segments, owners, positions = self._log.located(rows)
        changes = np.zeros(len(rows), CHANGE)
        changes["record"], changes["segment"], changes["position"] = rows, owners, positions
        changes["offset"], changes["size"] = self._log.records["offset"][rows], self._log.records["size"][rows]
        changes["who"] = np.where(self._is_own[rows], _KNOWN, _UNKNOWN)
        changes["who"][self._is_own[rows] & self._has_gaps[rows]] = _CHANGER
        changes["who"][self._kinds[rows] == RecordKind.FREE] = _FREED
        changes["fill"] = self._kinds[rows] == RecordKind.FILL
        for at in range(0, len(changes), _AT_ONCE):  # between two calls, signals are seen
            part = changes[at : at + _AT_ONCE].tobytes()
            made = _engine.guard_authors(self._pieces.now, self._known, segments, part)
            self._pieces.add(np.frombuffer(made, PIECE))

    def _is_void(self, rows: Records) -> bool:
        """Whether a transaction was aborted of which nothing was logged: then all is as it was."""
        numbers = set(self._log.records["transaction"][rows].tolist())
        return not numbers & self._logged and all(self._is_as_told(record) for record in rows.tolist())

    def _is_as_told(self, record: int) -> bool:
        start, data = int(self._log.records["offset"][record]), self._log.data(record)
        return self._pieces.now[start : start + len(data)].tobytes() == data

    @cached_property
    def _logged(self) -> frozenset[int]:
        """The transactions that made changes; 0, which is none, with them."""
        return frozenset(self._log.records["transaction"][self._rows[self._is_own[self._rows]]].tolist()) | {0}

    @cached_property
    def _open(self) -> npt.NDArray[np.bool_]:
        """Which records are of transactions that did not commit."""
        numbers = self._log.records["transaction"]
        left: npt.NDArray[np.bool_] = ~np.isin(numbers, [0, *numbers[self._log.of_kind(RecordKind.COMMIT)].tolist()])
        return left

    def _unfenced(self, since: int, until: int) -> npt.NDArray[np.bool_]:
        """Which records of a run were written since their threads last waited."""
        threads = self._log.records["thread"][since:until]
        fenced = np.flatnonzero(self._log.records["flags_pool"][since:until] & RecordFlag.FENCED)
        last = np.zeros(int(threads.max(initial=0)) + 1, np.int64)
        np.maximum.at(last, threads[fenced], fenced)
        waiting: npt.NDArray[np.bool_] = np.arange(until - since) >= last[threads]
        return waiting

    def _settle(self, rows: Records) -> None:
        first, restored = int(rows[0]), bool(self._restored[rows[0]])
        since, doubtful = self._last_run(rows), self._open[:first].copy()
        doubtful[since:] |= self._tells[since:first] if restored else self._unfenced(since, first)
        doubtful[:since] = False
        settlement = Settlement(self._log, self._pieces, rows, doubtful, self._open if restored else None)
        for low, high in settlement.apply():
            authors = self._pieces.authors(low, high)[::_WORD]
            self._known[low // _WORD : low // _WORD + len(authors)] = (authors >= 0) & self._is_own[authors]

    def _last_run(self, rows: Records) -> int:
        """Where the run began whose records may not have come true: the last one, of a rollback the one before."""
        starts = self._log.of_kind(RecordKind.START)
        before = starts[starts < rows[0]]
        if self._restored[rows[0]] and len(before):
            written = self._rows[self._is_own[self._rows] & (self._rows < before[-1])]
            before = before[before < written[-1]] if len(written) else before
        return int(before[-1]) if len(before) else 0

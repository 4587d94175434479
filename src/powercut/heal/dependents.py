"""Updates that must be undone with others: those that refer to objects they made, and those of the same line.

Before: the history of a pool, and updates that shall be taken back. After: others that were made because of them, or in
the same way. Both are read from the log alone: nobody watched what the service read while it ran.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powercut.arrays import distinct
from powercut.guard.endings import place_calls
from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.heal_plan import Groups

Records = frozenset[int]


def dependents(history: History, records: Records) -> Records:
    """Updates that hold an object's offset, as PMDK's object ids do, of objects whose making is taken back.

    And those that depend on them in their turn.
    """
    references, groups = _References(history), Groups(history)
    found, waiting = set(records), list(records)
    while waiting:
        for holder in references.to_what_was_made_with(waiting.pop()):
            if holder not in found:
                more = groups.with_record(holder) - found
                found |= more
                waiting += more
    return frozenset(found) - records


def made_by_same_line(history: History, record: int) -> list[int]:
    """What the line that made a record has made, in all runs of the service, the newest first."""
    log, made = history.log, []
    wanted = _line(history, record)
    runs = np.searchsorted(log.of_kind(RecordKind.START), history.changes, side="right")
    for run in distinct(runs).tolist():
        changes = history.changes[runs == run]
        sites = log.records["site"][changes]
        known = distinct(sites[sites != 0]).tolist()
        lines = place_calls(log, known, before=int(changes[0]))
        same = [site for site, line in zip(known, lines, strict=True) if line == wanted]
        made += changes[np.isin(sites, same)].tolist()
    return made[::-1] or [record]


def _line(history: History, record: int) -> str:
    return place_calls(history.log, [int(history.log.records["site"][record])], before=record)[0]


class _References:
    """Words of a pool that hold the offset of an object."""

    def __init__(self, history: History) -> None:
        log = history.log
        made = log.of_kind(RecordKind.ALLOCATE, RecordKind.FREE)
        made = made[log.pool_of[made] == history.pool.number]
        last = dict(zip(log.records["offset"][made].tolist(), made.tolist(), strict=True))
        self._history = history
        self._made: dict[int, list[int]] = {}  # objects that are in use, by the transaction that made them
        for offset, record in last.items():
            if log.records["kind"][record] == RecordKind.ALLOCATE:
                self._made.setdefault(int(log.records["transaction"][record]), []).append(offset)
        self._words = np.fromfile(history.pool.path, "<u8", history.pool.path.stat().st_size // 8)

    def to_what_was_made_with(self, record: int) -> Iterator[int]:
        """The updates that wrote references to objects which a record's transaction made."""
        transaction = int(self._history.log.records["transaction"][record])
        if transaction:
            for offset in self._made.pop(transaction, ()):
                for word in np.flatnonzero(self._words == offset).tolist():
                    yield from self._writer(8 * word, since=record)

    def _writer(self, at: int, since: int) -> Iterator[int]:
        """Who wrote a word last, unless that is PMDK itself, or somebody before the object was made."""
        if at in self._history.private:
            return
        for last in self._history.overlapping(at, at + 8)[-1:].tolist():
            if last > since and not self._history.log.is_library[last]:
                yield last

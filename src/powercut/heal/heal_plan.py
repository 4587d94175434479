"""The plan: which updates to undo, in which order.

Before: the log of a pool, and what a run of the failing restart under taint told. After: steps, the most suspicious
first. An update is suspected if a byte that it wrote reached the faulting instruction, or a branch on the way there;
the nearer to the fault, the earlier it is tried. A transaction is taken back as a whole, and with an object's
allocation all that was written into it since. What PMDK wrote for its own use is no step. An empty plan means that
nothing in the pool led to the fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path

import numpy as np

from powercut.arrays import distinct
from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.allocator import Allocator
from powercut.heal.failing_restart import Attempt, Origins
from powercut.heal.taint import LabelRange
from powercut.quick_dataclass import dataclass

_NEWEST = 16  # updates that are suspected because they came last


@dataclass(slots=True)
class Step:
    """One step: records that are taken back together.

    Attributes:
        cause: the record that reached the fault.
        records: it, and what must go with it.
        why: in words.
    """

    cause: int
    records: frozenset[int]
    why: str


@dataclass(slots=True)
class Plan:
    """All steps, in order.

    Attributes:
        updates: how many updates the log knows, to compare.
        incomplete: the run under taint lost track of something.
        tainted: how the run under taint ended, if that was otherwise than without; then the steps are no more than the
            newest updates, behind those that this run suggests.
        later: the process that failed, after the one that used the pool had ended well.
    """

    steps: list[Step] = field(default_factory=list)
    updates: int = 0
    incomplete: bool = False
    tainted: Attempt | None = None
    later: str | None = None

    def batches(self, size: int) -> list[Step]:
        """The steps, so many as one."""
        parts = [self.steps[at : at + size] for at in range(0, len(self.steps), size)]
        return [Step(part[0].cause, together(part), part[0].why) for part in parts]


def labels(history: History, file: Path, without: Collection[int] = ()) -> list[LabelRange]:
    """For each byte of a pool the record that last wrote it, if some never were: its index and one, as 0 means none."""
    pieces, inode = history.pieces.table, file.stat().st_ino
    left = pieces[~np.isin(pieces["record"], list(without))]
    return [LabelRange(inode, start, end - start, record + 1) for record, start, end in left.tolist()]


def make_plan(history: History, origins: Origins, failed: Attempt) -> Plan:
    """The steps that a run under taint suggests, and if it did not fail as a plain one, what else is known."""
    differs = not origins.attempt.resembles(failed)
    suspects = chain(_suspects(origins), _by_time(history)) if differs else _suspects(origins)
    tainted = origins.attempt if differs else None
    return Plan(steps_for(history, suspects), history.updates, origins.incomplete, tainted, origins.later)


def steps_for(history: History, suspects: Iterable[tuple[int, str]]) -> list[Step]:
    """Steps for records that are suspected, and why; none for those that an earlier step is about.

    One that an earlier step takes back because it made the object into which this one wrote has a step of its own.
    """
    groups, allocator = Groups(history), Allocator(history)
    covered: set[int] = set()
    steps = []
    for record, why in suspects:
        if record not in covered and not history.log.is_library[record] and not allocator.owns(record):
            records = groups.with_record(record)
            covered |= groups.own(record)
            steps.append(Step(record, records, why))
    return steps


def together(steps: Iterable[Step]) -> frozenset[int]:
    """The records of some steps."""
    return frozenset().union(*(step.records for step in steps))


def _suspects(origins: Origins) -> Iterator[tuple[int, str]]:
    """Records by how near they came to the fault; of one distance those first that were loaded last.

    An address that was found by a walk along a list depends on all links on the way. Of these the first ones are the
    newest, mostly, and the last one is where the walk went wrong.
    """

    def in_order(numbers: Iterable[int], why: str) -> Iterator[tuple[int, str]]:
        latest = sorted(numbers, key=lambda number: (origins.loaded.get(number, 0), number), reverse=True)
        return ((number - 1, why) for number in latest)

    for fault in origins.faults:
        for use in fault.operands:
            how = use.kind.name.lower()
            yield from in_order(use.labels, f"was used by the failing instruction, as the address of a {how}")
    threads = [fault.thread for fault in origins.faults] or origins.threads
    for thread in threads:
        for distance, branch in enumerate(thread.branches):
            yield from in_order(branch.labels, f"decided branch {distance + 1} before the end")
        for use in thread.uses:
            yield from in_order(use.labels, "was used as an address shortly before the end")


def _by_time(history: History) -> Iterator[tuple[int, str]]:
    """The newest updates, what each line wrote last, and older ones, farther and farther from each other.

    The last ones tell rollback how far it may go back.
    """
    newest = history.changes[::-1]
    for record in newest[:_NEWEST].tolist():
        yield record, "is one of the last updates"
    sites = history.log.records["site"][newest]
    for record in newest[np.sort(np.unique(sites, return_index=True)[1])].tolist():
        yield record, "is what its line wrote last"
    distance = _NEWEST
    while distance < len(newest):
        yield int(newest[distance]), "is a moment to go back to"
        distance *= 2
    if len(newest):
        yield int(newest[-1]), "is the oldest update of the log"


class Groups:
    """What must go together with a record."""

    def __init__(self, history: History) -> None:
        self._history = history
        table = history.log.records
        self._transactions = table["transaction"]
        allocated = history.log.of_kind(RecordKind.ALLOCATE)
        self._allocated = allocated[history.log.pool_of[allocated] == history.pool.number]

    def with_record(self, record: int) -> frozenset[int]:
        """All of the record, its transaction, and what was written later into objects that it made."""
        found = self.own(record)
        number = int(self._transactions[record])
        if number:
            for made in self._allocated[self._transactions[self._allocated] == number].tolist():
                found |= self._later_in(made)
        return frozenset(found)

    def own(self, record: int) -> set[int]:
        """All of the record, and of its transaction."""
        found = set(self._history.parts_of(record))
        number = int(self._transactions[record])
        if number:
            own = (self._transactions[self._history.changes] == number) & ~self._is_library
            found |= set(self._history.changes[own].tolist())
        return found

    @property
    def _is_library(self) -> np.ndarray:
        flags: np.ndarray = self._history.log.is_library[self._history.changes]
        return flags

    def _later_in(self, made: int) -> set[int]:
        table, log = self._history.log.records, self._history.log
        start = int(table["offset"][made])
        touching = self._history.overlapping(start, start + int(table["size"][made])).tolist()
        return {index for index in touching if index > made and not log.is_library[index]}


def discarded(history: History, records: Sequence[int] | frozenset[int]) -> tuple[int, int]:
    """Updates and bytes that are lost when records are taken back."""
    rows = history.log.records[sorted(records)]
    return len(distinct(rows["sequence"])), int(rows["size"].sum())

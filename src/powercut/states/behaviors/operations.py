"""Operations: what the program did, in the steps in which it thinks: a call, a store, a copy of many bytes.

Before: a timeline. After: columns of all operations in the order in which they were made. An operation that changes
something owns a range of updates: those of one call, or of stores that one place of the program makes to neighbouring
bytes and that become durable together. Syncs and outputs own none: they say where a task ends, and what was owed.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.hash_mixing import Words, mix, mix_all
from powercut.states.behaviors.stacks import Ints, StackTree, stack_tree
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind

_SYNCS = (Kind.FSYNC, Kind.FDATASYNC, Kind.SYNC, Kind.SYNCFS, Kind.MSYNC, Kind.SYNC_RANGE)
_MOST_NAMED = 100_000  # objects whose names are looked at where no stacks were recorded
_DIGITS = bytes.maketrans(b"0123456789", b"##########")

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]


class Role(IntEnum):
    """What an operation does."""

    CHANGE = 0
    SYNC = 1
    OUTPUT = 2


@dataclass(frozen=True)
class Operations:
    """The columns, one entry for each operation.

    Attributes:
        event: the first event of each operation.
        first, end: the updates that it owns.
        stores: whether it stored through a mapping.
        tree: the call stacks of all of them.
    """

    timeline: Timeline
    event: Ints
    first: Ints
    end: Ints
    role: npt.NDArray[np.int8]
    thread: Ints
    stack: Ints
    stores: Bools
    tree: StackTree

    def __len__(self) -> int:
        return len(self.event)

    @cached_property
    def by_thread(self) -> Ints:
        """The operations of the first thread in order, those of the second, and so on."""
        return np.lexsort((self.event, self.thread)).astype(np.int32)

    @cached_property
    def next_step(self) -> Longs:
        """The time at which the thread of each operation next changed or said something: the task went on."""
        order = self.by_thread
        times = np.where(self.role[order] == Role.SYNC, _LATER, 2 * self.event[order].astype(np.int64))
        group = self.thread[order]
        last = np.append(group[1:] != group[:-1], True)
        following = np.append(times[1:], _LATER)
        following[last] = self.timeline.end
        # A sync in between is no step: look through it to the next one of the same thread.
        for i in np.flatnonzero(following == _LATER)[::-1].tolist():
            following[i] = following[i + 1]
        found = np.empty(len(order), np.int64)
        found[order] = following
        return found

    @cached_property
    def guaranteed(self) -> Longs:
        """The time from which on the whole operation was durable."""
        found = np.full(len(self), -1, np.int64)
        owning = np.flatnonzero(self.end > self.first)
        if len(owning):
            found[owning] = np.maximum.reduceat(self.timeline.guaranteed, self.first[owning])
        return found

    def places(self, operations: Ints, depth: Ints) -> Words:
        """Where in the function at some depth each operation was made: what stands for its static location."""
        tree, stacks = self.tree, self.stack[operations]
        level = np.minimum(depth, tree.below.shape[1] - 1)
        place = tree.below[stacks, level]
        unknown = np.flatnonzero(stacks == 0)
        if len(unknown):
            place[unknown] = self._by_name[operations[unknown]]
        return mix_all(place, self.role[operations])

    @cached_property
    def _by_name(self) -> Words:
        """Without stacks: what kind of call it is, and the name of its file with the digits left out."""
        kinds = self.timeline.trace.events["kind"][self.event]
        found = mix_all(kinds, 1)
        owning = np.flatnonzero((self.end > self.first) & (self.stack == 0))
        objects = np.frombuffer(self.timeline.updates.obj, np.int32)[self.first[owning]] if len(owning) else owning
        different, which = np.unique(objects, return_inverse=True)
        if len(different) <= _MOST_NAMED:
            names = [self.timeline.index.path_of(int(obj)).translate(_DIGITS) for obj in different]
            numbers = {name: number for number, name in enumerate(sorted(set(names)), 2)}
            words = np.array([mix(0, numbers[name]) for name in names], np.uint64)
            found[owning] = mix_all(found[owning], words[which])
        return found


_LATER = -1


def operations_of(timeline: Timeline) -> Operations:
    """All operations of a timeline."""
    events, issued = timeline.trace.events, timeline.event
    kinds = events["kind"]
    first = np.flatnonzero(np.diff(issued, prepend=-1)).astype(np.int32)
    event = issued[first].astype(np.int32)
    others = [
        (np.flatnonzero(np.isin(kinds, _SYNCS)).astype(np.int32), Role.SYNC),
        (timeline.trace.of_kind(Kind.OUTPUT).astype(np.int32), Role.OUTPUT),
    ]
    stacks = [distinct(events["stack"][some]) for some in (event, *(found for found, _ in others))]
    tree = stack_tree(timeline.trace, np.concatenate(stacks).tolist())
    keep = ~_continue(timeline, tree, first, event)
    first = first[keep]
    end = np.append(first[1:], np.int32(len(issued))).astype(np.int32) if len(first) else first
    every = np.concatenate([event[keep], *(found for found, _ in others)])
    role = np.concatenate([np.zeros(len(first), np.int8), *(np.full(len(found), r, np.int8) for found, r in others)])
    none = np.zeros(len(every) - len(first), np.int32)
    order = np.argsort(every, kind="stable")
    every = every[order]
    return Operations(
        timeline,
        every,
        np.concatenate([first, none])[order],
        np.concatenate([end, none])[order],
        role[order],
        _threads(events["tid"][every]),
        events["stack"][every].astype(np.int32),
        kinds[every] == Kind.STORE,
        tree,
    )


def _threads(numbers: npt.NDArray[np.uint32]) -> Ints:
    return numbers.astype(np.int64).astype(np.int32)


def _continue(timeline: Timeline, tree: StackTree, first: Ints, event: Ints) -> Bools:
    """Which stores go on with the one before: the next bytes, from the same place, durable at the same time."""
    events, updates = timeline.trace.events, timeline.updates
    goes_on = np.zeros(len(first), np.bool_)
    stores = events["kind"][event] == Kind.STORE
    if not stores.any():
        return goes_on
    start = np.frombuffer(updates.start, np.int64)[first]
    length = np.frombuffer(updates.length, np.int64)[first]
    goes_on[1:] = stores[1:] & stores[:-1] & (start[1:] == start[:-1] + length[:-1])
    for column in (
        np.frombuffer(updates.obj, np.int32)[first],
        timeline.guaranteed[first],
        tree.place[events["stack"][event]],
        events["tid"][event],
    ):
        goes_on[1:] &= column[1:] == column[:-1]
    return goes_on

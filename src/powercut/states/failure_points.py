"""Failure points (Mumak): the moments at which a program relies on what it stored, each call stack once.

Before: a timeline. After: the events in front of which a plain kill is worth trying. At granularity `persistency` these
are the instructions and calls that make things durable (flushes, fences, non-temporal and locked stores; sync calls)
with a change since the last one: those in between leave equal images. At granularity `store` it is every change. Of the
events that one call stack makes, the first stands for all; a stack is made of places in modules, so it is the same from
run to run wherever the modules are loaded.

The image of a failure point is that of everything issued before it: program order, nothing lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.quick_dataclass import dataclass
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Flag, Kind

_PERSISTS = (Kind.FLUSH, Kind.FENCE, Kind.FSYNC, Kind.FDATASYNC, Kind.MSYNC, Kind.SYNC, Kind.SYNCFS, Kind.SYNC_RANGE)
_STORES_AND_PERSISTS = int(Flag.NONTEMPORAL | Flag.LOCKED)
_WRITES_AND_PERSISTS = int(Flag.SYNC | Flag.DSYNC)
CURVE_STEPS = 20  # moments at which the number of points known so far is told


class Granularity(StrEnum):
    """What counts as a failure point."""

    PERSISTENCY = "persistency"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class FailurePoint:
    """One place in the program, by call stack.

    Attributes:
        event: the first time it was reached.
        stack: number of its call stack, 0 where stacks were not recorded.
        count: how often it was reached.
    """

    event: int
    stack: int
    count: int

    @property
    def state(self) -> State:
        """The program was killed right before it, and nothing was lost."""
        return State(2 * self.event - 1, Base.ISSUED, frozenset())


def failure_points(timeline: Timeline, granularity: Granularity = Granularity.PERSISTENCY) -> list[FailurePoint]:
    """The failure points of a run, in the order in which they were first reached."""
    events = candidates(timeline, granularity)
    stacks = timeline.trace.at("stack", events)
    unknown = [FailurePoint(event, 0, 1) for event in events[stacks == 0].tolist()]  # nothing tells them apart
    numbers, first, counts = np.unique(stacks, return_index=True, return_counts=True)
    found = zip(events[first].tolist(), numbers.tolist(), counts.tolist(), strict=True)
    return sorted([*unknown, *(FailurePoint(*point) for point in found if point[1])], key=lambda point: point.event)


def candidates(timeline: Timeline, granularity: Granularity) -> npt.NDArray[np.int64]:
    """The events that are failure points, whatever their stack, in order."""
    if granularity is Granularity.STORE:
        return timeline.event[np.diff(timeline.event, prepend=-1) > 0].astype(np.int64)
    persists = timeline.trace.where(_persist)
    before = np.searchsorted(timeline.event, persists.astype(np.int32))  # updates that came before each
    return persists[np.diff(before, prepend=0) > 0]


def _persist(kinds: npt.NDArray[Any], flags: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which events make something durable."""
    stores = (kinds == Kind.STORE) & ((flags & _STORES_AND_PERSISTS) != 0) & ((flags & int(Flag.REST)) == 0)
    writes = (kinds == Kind.WRITE) & ((flags & _WRITES_AND_PERSISTS) != 0)
    found: npt.NDArray[np.bool_] = np.isin(kinds, _PERSISTS) | stores | writes
    return found


def coverage_curve(timeline: Timeline, points: Sequence[FailurePoint]) -> list[tuple[int, int]]:
    """(events, failure points reached by then): whether a longer workload would still reach new ones."""
    total = len(timeline.trace.events)
    firsts = np.array([point.event for point in points], np.int64)
    moments = [round(total * step / CURVE_STEPS) for step in range(1, CURVE_STEPS + 1)]
    return [(moment, int(np.searchsorted(firsts, moment))) for moment in moments]


@dataclass(slots=True)
class Node:
    """A frame of the failure-point tree, with the frames it calls.

    Attributes:
        points: how many failure points lie here or below.
        event: of the failure point that ends here, -1: none.
    """

    frame: str
    points: int = 0
    event: int = -1
    calls: dict[str, Node] = field(default_factory=dict)


def tree_of(stacks: Iterable[tuple[int, Sequence[str]]]) -> Node:
    """The tree of some failure points: (event, frames from the innermost out)."""
    root = Node("")
    for event, frames in stacks:
        node = root
        node.points += 1
        for frame in reversed(frames):
            node = node.calls.setdefault(frame, Node(frame))
            node.points += 1
        node.event = event
    return root

"""The order of the threads of a trace, and the locks that they hold.

Before: a trace with what orders threads (`ORDER` events; threads that were started). After: for any event of a thread,
its *segment*, the stretch of the thread between two meetings with others, and its *holding*, the locks it has.

One event is before another in every schedule if a chain of meetings leads from its segment to the other's: a thread
started, one that was waited for, a signal or a barrier. Locks order nothing here: who gets a lock first is up to the
schedule. They exclude, and that is asked of holdings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.quick_dataclass import dataclass
from powercut.trace.layout import Flag, Kind, Order
from powercut.trace.reader import Trace

Numbers = npt.NDArray[np.int64]
Lock = tuple[int, int]  # process and address, or, in a mapped file, its inode and the offset
Locks = frozenset[tuple[Lock, bool]]  # and whether it is shared
_NOBODY: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a thread: its number there, and of each other thread the last segment that is before it."""

    thread: int
    number: int
    known: Mapping[int, int]

    def before(self, other: Segment) -> bool:
        """Whether all of this one is before all of the other, in every schedule."""
        if self.thread == other.thread:
            return self.number < other.number
        return other.known.get(self.thread, -1) >= self.number


@dataclass(frozen=True, slots=True)
class Holding:
    """The locks a thread has: for each, which of its acquisitions it was, and whether others may share it."""

    locks: Mapping[Lock, tuple[int, bool]]

    def throughout(self, later: Holding) -> Locks:
        """The locks that the thread never gave back between this moment and a later one."""
        return frozenset((lock, got[1]) for lock, got in self.locks.items() if later.locks.get(lock) == got)


def exclude(some: Locks, others: Locks) -> bool:
    """Whether two threads with these locks cannot be where they are at the same time."""
    return any(lock == other and not (shared and also) for lock, shared in some for other, also in others)


@dataclass(slots=True)
class _Course:
    """One thread's way: where its segments and holdings begin, and which they are."""

    starts: list[int] = field(default_factory=lambda: [-1])
    segments: list[int] = field(default_factory=list)
    holdings: list[int] = field(default_factory=list)
    depth: dict[Lock, int] = field(default_factory=lambda: defaultdict(int))


class Threads:
    """The courses of all threads of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.segments: list[Segment] = []
        self.holdings: list[Holding] = [Holding({})]
        self._courses: dict[int, _Course] = {}
        self._sent: dict[Lock, dict[int, int]] = defaultdict(dict)
        self._acquired = 0
        events = trace.of_kind(Kind.ORDER, Kind.FORK)
        for number, event in zip(events.tolist(), trace.events[events] if len(events) else (), strict=True):
            thread = int(event["tid"])
            if event["kind"] == Kind.ORDER:
                self._meet(number, thread, event)
            elif int(event["flags"]) & Flag.THREAD:
                self._course(int(event["extra"]), known=self._tell(number, thread))

    def locate(self, threads: npt.NDArray[np.uint32], events: Numbers) -> tuple[Numbers, Numbers]:
        """The segments and holdings of some threads at some events, as numbers in `segments` and `holdings`."""
        segments, holdings = np.zeros(len(events), np.int64), np.zeros(len(events), np.int64)
        for thread in distinct(threads).tolist():
            mine, course = threads == thread, self._course(thread)
            at = np.searchsorted(np.array(course.starts), events[mine], side="right") - 1
            segments[mine] = np.array(course.segments)[at]
            holdings[mine] = np.array(course.holdings)[at]
        return segments, holdings

    def _meet(self, number: int, thread: int, event: np.void) -> None:
        order, where = int(event["extra"]), int(event["length"])
        in_file = int(event["inode"])
        lock = (in_file, int(event["offset"])) if in_file else (-int(event["pid"]), where)
        if order == Order.SEND:
            sent = self._sent[lock]
            for known, last in self._tell(number, thread).items():
                sent[known] = max(last, sent.get(known, -1))
        elif order == Order.RECEIVE:
            self._learn(number, thread, self._sent[lock])
        elif order == Order.JOIN:
            self._learn(number, thread, self._everything(where))
        elif order in (Order.LOCK, Order.LOCK_SHARED):
            self._lock(number, thread, lock, shared=order == Order.LOCK_SHARED)
        elif order == Order.UNLOCK:
            self._unlock(number, thread, lock)

    def _course(self, thread: int, known: Mapping[int, int] = _NOBODY) -> _Course:
        """The course of a thread, begun if it is new."""
        course = self._courses.get(thread)
        if course is None:
            course = self._courses[thread] = _Course(segments=[len(self.segments)], holdings=[0])
            self.segments.append(Segment(thread, 0, known))
        return course

    def _here(self, thread: int) -> Segment:
        return self.segments[self._course(thread).segments[-1]]

    def _everything(self, thread: int) -> dict[int, int]:
        """What is before whoever learns that all of a thread so far is."""
        here = self._here(thread)
        return {**here.known, thread: here.number}

    def _tell(self, number: int, thread: int) -> dict[int, int]:
        """The same, told at an event: what the thread does from there on is not part of it."""
        told = self._everything(thread)
        self._next_segment(number, thread, self._here(thread).known)
        return told

    def _learn(self, number: int, thread: int, told: Mapping[int, int]) -> None:
        known = dict(self._here(thread).known)
        for other, last in told.items():
            if other != thread:
                known[other] = max(last, known.get(other, -1))
        self._next_segment(number, thread, known)

    def _next_segment(self, number: int, thread: int, known: Mapping[int, int]) -> None:
        course = self._course(thread)
        self.segments.append(Segment(thread, self._here(thread).number + 1, known))
        self._step(course, number, len(self.segments) - 1, course.holdings[-1])

    def _lock(self, number: int, thread: int, lock: Lock, *, shared: bool) -> None:
        course = self._course(thread)
        course.depth[lock] += 1
        if course.depth[lock] == 1:
            self._acquired += 1
            self._hold(course, number, {**self._held(course), lock: (self._acquired, shared)})

    def _unlock(self, number: int, thread: int, lock: Lock) -> None:
        course = self._course(thread)
        if lock in self._held(course):
            course.depth[lock] -= 1
            if course.depth[lock] == 0:
                self._hold(course, number, {other: got for other, got in self._held(course).items() if other != lock})

    def _held(self, course: _Course) -> Mapping[Lock, tuple[int, bool]]:
        return self.holdings[course.holdings[-1]].locks

    def _hold(self, course: _Course, number: int, locks: Mapping[Lock, tuple[int, bool]]) -> None:
        self.holdings.append(Holding(locks))
        self._step(course, number, course.segments[-1], len(self.holdings) - 1)

    @staticmethod
    def _step(course: _Course, number: int, segment: int, holding: int) -> None:
        course.starts.append(number)
        course.segments.append(segment)
        course.holdings.append(holding)

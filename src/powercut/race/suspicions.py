"""Suspicions: possible races that one execution showed, each with a key that identifies it in every execution.

The id of a suspicion is that of the finding it may become: the line that stores, or takes the lock. Its sort says also
who read it, and what was made of it; there code is named by module and address, which hold from run to run, as event
numbers, threads of the kernel and addresses of data do not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from powercut.findings.finding import FindingKind
from powercut.findings.identity import identify
from powercut.findings.places import Places
from powercut.quick_dataclass import dataclass
from powercut.race.accesses import Accesses
from powercut.race.inconsistencies import Inconsistency, inconsistencies
from powercut.race.locks import HeldLock, held_locks
from powercut.race.race_findings import STORED, TAKEN
from powercut.race.schedule import Schedule
from powercut.states.timeline import Timeline
from powercut.trace.layout import FRAME, TableKind
from powercut.trace.reader import Trace
from powercut.trace.symbols import Frame

Code = tuple[bytes, int]  # the path of a module, and the address in it
Line = tuple[str | None, int | None]  # of a file
_CALLERS = 3  # frames that tell one lock from another that the same function takes


@dataclass(frozen=True, slots=True)
class Shown:
    """One execution, and what it takes to see it again.

    Attributes:
        seed: what the program read.
        schedule: how its threads ran.
        threads: index of each thread, by its number in the trace.
        meetings: for a candidate, by its number, the schedule that lets the same load meet the same store again.
    """

    timeline: Timeline
    seed: bytes
    schedule: Schedule
    threads: dict[int, int]
    meetings: dict[int, Schedule]


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something that is to be judged.

    Attributes:
        id, sort: see above.
        stored: the call stack of the store; `used`: those of the load and of the effect.
        schedule: how to see it again.
    """

    id: str
    sort: Hashable
    subject: Inconsistency | HeldLock
    stored: tuple[Frame, ...]
    used: Sequence[tuple[Frame, ...]]
    schedule: Schedule


class Suspicions:
    """All suspicions of one execution."""

    def __init__(self, shown: Shown, places: Places) -> None:
        self.shown = shown
        self._places = places
        self._accesses = Accesses(shown.timeline.trace)
        self._code: dict[int, tuple[Code, ...]] = {}

    def read_pairs(self) -> Iterator[tuple[bool, tuple[Code, Code]]]:
        """Store and load of each candidate, and whether they are of two threads."""
        for load, stores in self._accesses.read_pairs():
            yield self._accesses.is_between_threads(load, stores), (self._at(stores[0]), self._at(load))

    def lock_lines(self, lock: HeldLock) -> set[Line]:
        """Where a lock is taken and freed: all that stores into its word."""
        found = (self._places.location(event, TAKEN, "") for event in self._accesses.stores_like(lock.store))
        return {(location.file, location.line) for location in found}

    def __iter__(self) -> Iterator[Suspicion]:
        for one in inconsistencies(self.shown.timeline, self._accesses):
            kind = FindingKind.INTER_THREAD if one.between_threads else FindingKind.INTRA_THREAD
            sort = (kind, *(self._at(event) for event in (one.store, one.load, one.effect[0])))
            stored, *used = (self._places.frames(event) for event in (one.store, one.load, one.effect[0]))
            schedule = self.shown.meetings.get(self._accesses.field("extra", one.load), self.shown.schedule)
            yield Suspicion(self._id(kind, one.store, STORED), sort, one, stored, used, schedule)
        for lock in held_locks(self.shown.timeline, self._accesses):
            kind, frames = FindingKind.SYNCHRONIZATION, self._places.frames(lock.store)
            way = (kind, self._way(lock.store)[:_CALLERS])
            yield Suspicion(self._id(kind, lock.store, TAKEN), way, lock, frames, [frames], self.shown.schedule)

    def _id(self, kind: FindingKind, store: int, role: str) -> str:
        return identify(kind.value, [self._places.location(store, role, "")])

    def threads(self, suspicion: Suspicion) -> tuple[int, int]:
        """The indices of the threads that stored and that read; who takes a lock does both."""
        subject = suspicion.subject
        load = subject.load if isinstance(subject, Inconsistency) else subject.store
        return self._thread(subject.store), self._thread(load)

    def _thread(self, event: int) -> int:
        return self.shown.threads.get(self._accesses.field("tid", event), 0)

    def _at(self, event: int) -> Code:
        """The instruction of an event."""
        return next(iter(self._way(event)), (b"", 0))

    def _way(self, event: int) -> tuple[Code, ...]:
        """The instruction of an event, and the calls that led there, innermost first."""
        stack = self._accesses.field("stack", event)
        if stack not in self._code:
            self._code[stack] = tuple(_code(self.shown.timeline.trace, stack))
        return self._code[stack]


def _code(trace: Trace, stack: int) -> Iterator[Code]:
    frames = np.frombuffer(trace.entry(TableKind.STACK, stack) if stack else b"", FRAME)
    modules = len(trace.table(TableKind.MODULE))
    for frame in frames:
        number = int(frame["ref"])
        known = trace.entry(TableKind.MODULE, number) if 0 < number <= modules else b""
        yield known.partition(b"\0")[0], int(frame["addr"])

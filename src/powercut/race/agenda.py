"""The agenda of a search: what a free worker does next.

There is always more to execute, and every execution may leave more to verify: cases to judge, findings to replay, plain
crash bugs to explain. Neither may starve the other, whatever a recovery or an execution takes. So whoever is free does
that of the two which has had less time so far. What is begun is finished first: a bug that only waits for its replays
comes before another verdict.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field

from powercut.quick_dataclass import dataclass
from powercut.race.case import Case
from powercut.race.reproduction import Rehearsal
from powercut.race.results import RaceResults
from powercut.race.schedule import Schedule
from powercut.race.scheduler import ExecutionScheduler, Task
from powercut.race.suspicions import Shown
from powercut.race.validation import PlainFailure


@dataclass(frozen=True, slots=True)
class Judging:
    """A case is to be judged."""

    case: Case


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """A finding is to be executed again."""

    rehearsal: Rehearsal
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class Explaining:
    """An image fails where no race is to blame."""

    failure: PlainFailure
    case: Case


@dataclass(frozen=True, slots=True)
class CleanEnd:
    """Recovery and check are to be tried on what a clean end leaves."""

    shown: Shown


Work = Task | Judging | Rehearsing | Explaining | CleanEnd


@dataclass(slots=True)
class Agenda:
    """Chooses.

    Attributes:
        urgent: what comes first.
        may_judge: recovery and check are known to accept a clean end.
    """

    scheduler: ExecutionScheduler
    results: RaceResults
    urgent: deque[CleanEnd] = field(default_factory=deque)
    plain: deque[Explaining] = field(default_factory=deque)
    may_judge: bool = False
    _spent: dict[bool, float] = field(default_factory=lambda: {True: 0.0, False: 0.0})  # True: on executions

    def next(self, *, execute: bool) -> Work | None:
        """What to do; None if there is nothing now. Without `execute`, no further execution is begun."""
        if self.urgent:
            return self.urgent.popleft()
        if execute and self._spent[True] <= self._spent[False]:
            return self.scheduler.next() or self._verification()
        return self._verification() or (self.scheduler.next() if execute else None)

    def done(self, work: Work, seconds: float) -> None:
        """What that took."""
        self._spent[isinstance(work, Task)] += seconds

    def _verification(self) -> Work | None:
        for rehearsal in self.results.rehearsals:
            schedule = rehearsal.next()
            if schedule is not None:
                return Rehearsing(rehearsal, schedule)
        if not self.may_judge:
            return None
        if self.plain:
            return self.plain.popleft()
        case = self.results.next_case()
        return Judging(case) if case is not None else None

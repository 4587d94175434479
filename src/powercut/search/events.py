"""What the engine tells its subscribers: terminal, JSON and all other reports are made of these events alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from powercut.findings.finding import Finding
from powercut.quick_dataclass import dataclass
from powercut.states.estimate import Estimate


@dataclass(slots=True)
class Counts:
    """How far the search is."""

    tested: int = 0  # states on which the check ran
    known: int = 0  # states with a cached verdict of an earlier run
    equal: int = 0  # states identical to a tested one
    equivalent: int = 0  # states that the check cannot tell from a tested one
    total: int | Estimate | None = None  # all states of all crash points; None where nobody asked
    checks: int = 0  # runs of the check: for states, also with less output, and to explain failures
    forks: int = 0  # those of them that were forks of a check that was started for another state
    failed: int = 0  # judged states that did not pass
    unexplained: int = 0  # failing states that no finding explains, for want of time
    unanswered: int = 0  # states on which the check was running much longer than ever before when time was over
    exhausted: bool = False  # every state of every crash point was tested, or equal or equivalent to a tested one
    by_strategy: dict[str, int] = field(default_factory=dict)

    @property
    def covered(self) -> int:
        """States of which something is known."""
        return self.tested + self.known + self.equal + self.equivalent

    @property
    def left(self) -> int | Estimate | None:
        """States of which nothing is known."""
        if isinstance(self.total, Estimate):
            return self.total.less(self.covered)
        return None if self.total is None else max(0, self.total - self.covered)


@dataclass(frozen=True, slots=True)
class Said:
    """A line for the user: what is being done, or what was chosen and why."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Doing:
    """What goes on from now, for a terminal that shows it while it lasts."""

    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The search went on."""

    counts: Counts
    findings: int
    seconds: float
    left: float | None  # seconds until the budget ends


@dataclass(frozen=True, slots=True)
class Weighed:
    """The trial of a program's syncs went on."""

    settled: int  # syncs, each once for each model
    total: int
    tested: int  # states
    left: float | None  # seconds until the budget ends


@dataclass(frozen=True, slots=True)
class Raced:
    """The search for races went on."""

    counts: dict[str, int]  # as `SavedRun.race` has them
    rate: float  # executions a second
    left: float | None  # seconds until the budget ends


@dataclass(frozen=True, slots=True)
class Repeated:
    """A race was executed again."""

    seen: int
    done: int
    tries: int


@dataclass(frozen=True, slots=True)
class Found:
    """A new finding."""

    finding: Finding


Event = Said | Doing | Progress | Weighed | Raced | Repeated | Found
Subscriber = Callable[[Event], None]

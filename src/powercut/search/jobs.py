"""What passes between the engine and its workers: jobs out, results back; and what both ask of a timeline.

A job is one state of one timeline to be judged, with a number the engine chose; its result carries that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from powercut.oracle.image_queries import Asked
from powercut.oracle.verdict import Verdict
from powercut.quick_dataclass import dataclass
from powercut.states.state import State


class Watching(IntEnum):
    """How closely an oracle is looked at while it judges."""

    NOT = 0
    ONCE = 1  # what it looks at is recorded
    AGAIN = 2  # ... and it is asked again, to see whether it says and reads the same


@dataclass(frozen=True, slots=True)
class Job:
    """A state that is to be judged.

    Attributes:
        output_until: the point up to which the program's output counts; None for the crash point itself.
        unsaid: events whose output does not count.
        traced: the oracle died on this state before; say where it does.
        looks: whether the oracle is to be watched, and asked again.
    """

    id: int
    timeline: int
    state: State
    output_until: int | None = None
    traced: bool = False
    looks: Watching = Watching.NOT
    unsaid: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Result:
    """What the oracle said about the job of that number.

    Attributes:
        seconds: what it took, the image and all, but for runs that proved it.
        forked: a fork of a check gave the verdict that was started for another state.
        disproved: how forks of the check differ from runs in the usual way; empty if they do not.
        contradiction: what the check said of the same state once and another time; empty if nothing was seen.
    """

    id: int
    verdict: Verdict
    watched: Watched | None = None
    seconds: float = 0.0
    forked: bool = False
    disproved: str = ""
    contradiction: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """What came of watching an oracle.

    Attributes:
        asked: what it asked of the image and was told; None if that is not known.
        why: why it is not known.
        differs: what it did differently when asked again; empty if nothing.
        plain: seconds that a run took which nobody watched; 0 if there was none.
    """

    asked: Asked | None
    why: str
    differs: str
    plain: float


class Executor(Protocol):
    """Runs jobs somewhere."""

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue jobs; their order is kept where it can be, since neighbours are cheap to reach from each other."""

    def results(self, timeout: float | None) -> list[Result]:
        """Results that came in, waiting for the first one up to a limit; empty when it passed or nothing runs."""

    def capacity(self) -> int:
        """How many more jobs keep the workers busy."""

    def notes(self) -> list[str]:
        """What went wrong and was made up for, for the report."""

    def close(self) -> None:
        """End all workers and remove their scratch folders."""

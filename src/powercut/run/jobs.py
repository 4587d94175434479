"""What passes between the engine and its workers: jobs out, results back; and what both ask of a timeline.

A job is one state of one timeline to be judged, with a number the engine chose; its result carries that number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

from powercut.image.image import Changes, Image
from powercut.oracle.verdict import Verdict
from powercut.states.equivalence.questions import Ask, Asked
from powercut.states.state import State
from powercut.trace.reader import Trace


class Watching(IntEnum):
    """How closely an oracle is looked at while it judges."""

    NOT = 0
    ONCE = 1  # what it looks at is recorded
    AGAIN = 2  # ... and it is asked again, to see whether it says and reads the same


@dataclass(frozen=True, slots=True)
class Job:
    """A state that is to be judged.

    Attributes:
        owed: the point up to which the program's output counts; None for the crash point itself.
        traced: the oracle died on this state before; say where it does.
        looks: whether the oracle is to be watched, and asked again.
    """

    id: int
    timeline: int
    state: State
    owed: int | None = None
    traced: bool = False
    looks: Watching = Watching.NOT


@dataclass(frozen=True, slots=True)
class Result:
    """What the oracle said about the job of that number.

    Attributes:
        seconds: what it took, the image and all.
    """

    id: int
    verdict: Verdict
    watched: Watched | None = None
    seconds: float = 0.0


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


@dataclass(frozen=True, slots=True)
class Told:
    """What the program had told the outside before the power cut: on standard output, and over sockets."""

    printed: bytes = b""
    sent: bytes = b""


class Timeline(Protocol):
    """What a worker needs to know of a timeline."""

    def image(self, state: State) -> Image:
        """The content of the data folder in a state."""

    def changes(self, before: State | None, after: State) -> Changes:
        """Where the images of two states may differ."""

    def changes_from(self, other: Any, before: State, after: State) -> Changes:
        """The same, where `before` is a state of another timeline of the same trace."""

    def acked(self, point: int) -> bytes:
        """What the program had printed by a point."""

    def sent(self, point: int) -> bytes:
        """What the program had sent over sockets by a point."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an oracle looked at: the trace, and the inodes of the files that tell what the program had said."""

    trace: Trace
    words: Mapping[int, Ask]


class Oracle(Protocol):
    """Judges the image in a folder.

    Attributes:
        slack: seconds that a judgement may take on top of its time-out.
    """

    slack: float

    def open(self, place: Place) -> None:
        """Called once in each worker, before the first judgement."""

    def judge(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """Recover and check the data folder; ``tick`` is to be called now and then, where that is possible."""

    def judge_traced(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """The same, with the stack of where it dies."""

    def judge_watched(
        self, folder: Path, told: Told, tick: Callable[[], object] | None = None
    ) -> tuple[Verdict, Recorded | None]:
        """The same, with a record of what it looks at; None where there is no such record."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker runs its checks.

    Attributes:
        folder: the data folder as the check sees it.
        data_dir: the data folder of the recorded run; equal to ``folder`` in a private view.
        scratch: a folder for the oracle's own files, outside the data folder.
    """

    folder: Path
    data_dir: Path
    scratch: Path


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

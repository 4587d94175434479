"""What passes between the engine and its workers: jobs out, results back; and what both ask of a timeline.

A job is one state of one timeline to be judged, with a number the engine chose; its result carries that number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from powercut.image.image import Changes, Image
from powercut.oracle.verdict import Verdict
from powercut.states.state import State


@dataclass(frozen=True, slots=True)
class Job:
    """A state that is to be judged.

    Attributes:
        owed: the point up to which the program's output counts; None for the crash point itself.
        traced: the oracle died on this state before; say where it does.
    """

    id: int
    timeline: int
    state: State
    owed: int | None = None
    traced: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What the oracle said about the job of that number."""

    id: int
    verdict: Verdict


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

    def acked(self, point: int) -> bytes:
        """What the program had printed by a point."""

    def sent(self, point: int) -> bytes:
        """What the program had sent over sockets by a point."""


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

"""What an oracle is: it judges the image in a folder, knowing what the program had told the outside by then.

Before: a folder that holds the image of a crash state. After: a verdict; the folder may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from powercut.oracle.image_queries import Ask
from powercut.oracle.verdict import Verdict
from powercut.quick_dataclass import dataclass
from powercut.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Told:
    """What the program had told the outside before the power cut: on standard output, and over sockets."""

    printed: bytes = b""
    sent: bytes = b""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an oracle looked at: the trace, and the inodes of the files that tell what the program had said."""

    trace: Trace
    words: Mapping[int, Ask]


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
    layered: bool = False  # the folder is an overlay, whose upper layer is on the file system of `scratch`


class Oracle(Protocol):
    """Judges the image in a folder.

    Attributes:
        slack: seconds that a judgement may take on top of its time-out.
        forked: whether the last verdict is that of a fork of a check that was started for another state.
    """

    slack: float

    @property
    def forked(self) -> bool: ...

    def open(self, place: Place) -> None:
        """Called once in each worker, before the first judgement."""

    def judge(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """Recover and check the data folder; ``tick`` is to be called now and then, where that is possible."""

    def judge_anew(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """The same, never by a fork."""

    def must_be_proved(self, verdict: Verdict) -> bool:
        """Whether this verdict of a fork must be compared with one of `judge_anew`."""

    def stop_forking(self, why: str) -> None:
        """Judge without forks from now on."""

    def judge_traced(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """The same, with the stack of where it dies."""

    def judge_watched(
        self, folder: Path, told: Told, tick: Callable[[], object] | None = None
    ) -> tuple[Verdict, Recorded | None]:
        """The same, with a record of what it looks at; None where there is no such record."""

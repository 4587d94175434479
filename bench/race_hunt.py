"""How soon a way of scheduling shows a known race: runs of `powercut race` that end when they have found it.

A run is a campaign: its number makes it repeatable, and different from others. What it finds besides is kept, too.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit import HERE

from powercut.findings.finding import Finding
from powercut.race.session import RaceOptions, RaceSession
from powercut.search.events import Event, Found, Raced
from powercut.settings import Settings
from powercut.testing.session import Session

sys.path.insert(0, str(HERE.parent / "corpus"))

JOBS = 2  # executions at the same time: the targets are for two cores


@dataclass(frozen=True, slots=True)
class Target:
    """A program with a known race, ready to run.

    Attributes:
        recovery: the command that restarts it on a crash image, and `check`, the one that judges it.
        wanted: whether a finding is the known race.
        options: of `powercut race`, where they are not the default.
    """

    name: str
    data: Path
    workload: Sequence[str]
    recovery: str
    check: str
    wanted: Callable[[Finding], bool]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Hunted:
    """What one run came to: when the race was found, everything that was, and how many executions that took."""

    seconds: float | None = None
    findings: dict[str, Finding] = field(default_factory=dict)
    executions: int = 0
    whole: float = 0.0  # seconds of the whole run


class _Enough(Exception):
    """There is nothing more to learn from this run."""


@dataclass(slots=True)
class _Hunter:
    """Notes findings, and ends the run when it is over."""

    target: Target
    hunted: Hunted
    over: Callable[[Hunted], bool]
    began: float = field(default_factory=time.monotonic)

    def tell(self, event: Event) -> None:
        """What the run says."""
        hunted = self.hunted
        if isinstance(event, Found):
            hunted.findings[event.finding.id] = event.finding
            if hunted.seconds is None and self.target.wanted(event.finding):
                hunted.seconds = time.monotonic() - self.began
        if isinstance(event, Raced):
            hunted.executions = event.counts["executions"]
        if isinstance(event, Found | Raced) and self.over(hunted):
            raise _Enough


def when_found(hunted: Hunted) -> bool:
    """A run that is over when the race is found."""
    return hunted.seconds is not None


def never(hunted: Hunted) -> bool:
    """A run that goes on until its budget ends."""
    return False


def hunt(
    target: Target, schedule: str, number: int, budget: float, over: Callable[[Hunted], bool] = when_found
) -> Hunted:
    """One run; its folder of saved runs lies beside the data and is replaced by the next one's."""
    folder, hunted = target.data.parent, Hunted()
    shutil.rmtree(folder / ".powercut", ignore_errors=True)
    hunter = _Hunter(target, hunted, over)
    settings = Settings(dir=str(target.data), check=target.check, budget=f"{budget:g}s", seed=number, cache=False)
    options = RaceOptions(recovery=target.recovery, schedule=schedule, jobs=JOBS, **target.options)
    with suppress(_Enough):
        RaceSession(Session(settings, folder, hunter.tell), options).run(target.workload)
    hunted.whole = time.monotonic() - hunter.began
    return hunted

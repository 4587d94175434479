"""How soon a way of searching finds a known bug: a recorded run, its check, and the time and states until it fails.

The program is recorded once; every mode searches the same trace with the same check, one after the other.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit import Broken

from powercut.model.filesystem import ONE_ROW
from powercut.runs.store import new_run_folder
from powercut.search.events import Counts, Event, Found, Progress
from powercut.settings import Settings
from powercut.testing.session import Session
from powercut.trace.reader import Trace

# A mode is what it sets: strategies, and whatever else tells it from others.
MODES: dict[str, dict[str, Any]] = {
    "exhaustive": {"strategies": "exhaustive,samples", "equivalence": False},
    "prefix only": {"strategies": "prefixes", "equivalence": False},
    "representative": {"strategies": "representatives", "equivalence": False},
    "with equivalence": {"strategies": "representatives"},  # as long as it pays, as by default
}


@dataclass(frozen=True, slots=True)
class Known:
    """A program with a known bug, ready to be recorded: `settings` are those for recording and searching."""

    target: str
    bug: str
    data: Path
    workload: Sequence[str]
    check: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> Trace:
        """Run it once."""
        folder = self.data.parent
        session = Session(Settings(dir=str(self.data), **self.settings), folder, _ignore)
        return session.record(self.workload, folder / "trace")


@dataclass(frozen=True, slots=True)
class Hunted:
    """What one search came to.

    Attributes:
        seconds: until the bug was found, or the search ended without it.
        states: that were judged by then.
        ended: the search had no more states, or found the bug; otherwise the budget ended.
    """

    found: bool
    seconds: float
    states: int
    ended: bool


class _Enough(Exception):
    """The bug was found."""


class _Hunter:
    """Ends the search at its first finding, if that is enough, and knows the counts by then."""

    def __init__(self, *, first: bool) -> None:
        self.counts: Counts | None = None
        self.found = False
        self._first = first

    @property
    def enough(self) -> bool:
        """Whether the search ended because something was found."""
        return self._first and self.found

    def tell(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.counts = event.counts
        self.found |= isinstance(event, Found)
        if self.enough and self.counts is not None:
            raise _Enough


def hunt(known: Known, trace: Trace, mode: Mapping[str, Any], budget: float) -> Hunted:
    """Search a trace in one mode, until something is found."""
    return _search(known, trace, mode, budget, _Hunter(first=True))


def search(known: Known, trace: Trace, mode: Mapping[str, Any], budget: float) -> Hunted:
    """Search a trace in one mode to the end, whatever is found."""
    return _search(known, trace, mode, budget, _Hunter(first=False))


def _search(known: Known, trace: Trace, mode: Mapping[str, Any], budget: float, hunter: _Hunter) -> Hunted:
    fixed = {"check": known.check, "budget": f"{budget:g}s", "lint": False, "cache": False}
    chosen = {"fs": ONE_ROW.name, **known.settings, **mode, **fixed}  # ways of searching are compared on one row
    folder = known.data.parent
    session = Session(Settings(dir=str(known.data), **chosen), folder, hunter.tell)
    run_folder = new_run_folder(session.output)
    shutil.copyfile(trace.name, run_folder / "trace")
    started = time.monotonic()
    with suppress(_Enough):
        session.explore(trace, run_folder)
    seconds = time.monotonic() - started
    if hunter.counts is None:
        raise Broken(f"{known.target}, {known.bug}: the search told nothing")
    return Hunted(hunter.found, seconds, hunter.counts.tested, hunter.enough or seconds < budget)


def _ignore(event: Event) -> None:
    """Nobody listens."""

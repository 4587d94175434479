"""Entries: problems as the page lists them, with all that is shown when one is opened."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from powercut.findings.finding import Finding, Location
from powercut.quick_dataclass import dataclass
from powercut.report.html.evidence import Evidence, EvidenceRoom
from powercut.report.html.excerpts import Excerpt, excerpts
from powercut.report.problems import Problem


@dataclass(frozen=True, slots=True)
class Place:
    """A place that takes part, and the frames of its call stack."""

    location: Location
    frames: list[Excerpt]

    @property
    def own(self) -> Excerpt | None:
        """The frame to show at once: the user's own line, as far as it is at hand."""
        return next((frame for frame in self.frames if frame.lines and frame.own), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One problem; a finding and its evidence only where it is one of a crash state."""

    problem: Problem
    places: list[Place]
    finding: Finding | None = None
    evidence: Evidence | None = None


def finding_entries(
    problems: Iterable[Problem], findings: Iterable[Finding], room: EvidenceRoom, root: Path
) -> list[Entry]:
    """Entries of findings, in their order; sources below the root are named without it."""
    known = {finding.id: finding for finding in findings}
    pairs = [(problem, known[problem.id]) for problem in problems]
    return [Entry(problem, _places(problem, root), finding, room.evidence(finding)) for problem, finding in pairs]


def plain_entries(problems: Iterable[Problem], root: Path) -> list[Entry]:
    """Entries of what has no crash state of its own."""
    return [Entry(problem, _places(problem, root)) for problem in problems]


def _places(problem: Problem, root: Path) -> list[Place]:
    return [Place(location, excerpts(location, root)) for location in problem.locations]

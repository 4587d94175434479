"""Entries: problems as the page lists them, with all that is shown when one is opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from powercut.findings.finding import Finding, Location
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
        here = f"{self.location.file}:{self.location.line}"
        return next((frame for frame in self.frames if frame.lines and frame.place == here), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One problem; a finding and its evidence only where it is one of a crash state."""

    problem: Problem
    places: list[Place]
    finding: Finding | None = None
    evidence: Evidence | None = None


def finding_entries(problems: Iterable[Problem], findings: Iterable[Finding], room: EvidenceRoom) -> list[Entry]:
    """Entries of findings, in their order."""
    known = {finding.id: finding for finding in findings}
    pairs = [(problem, known[problem.id]) for problem in problems]
    return [Entry(problem, _places(problem), finding, room.evidence(finding)) for problem, finding in pairs]


def plain_entries(problems: Iterable[Problem]) -> list[Entry]:
    """Entries of what has no crash state of its own."""
    return [Entry(problem, _places(problem)) for problem in problems]


def _places(problem: Problem) -> list[Place]:
    return [Place(location, excerpts(location)) for location in problem.locations]

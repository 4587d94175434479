"""Problems: findings and misuses of a run in one form, for reports that treat them alike.

Before: a saved run, which may come from anywhere. After: each of its findings and misuses with a rule, a level, its
places, and frames that are files and lines again instead of text.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from powercut.findings.finding import Finding, Location
from powercut.findings.idioms import how_to
from powercut.findings.sources import sources
from powercut.lint.misuse import Misuse
from powercut.printable import counted
from powercut.quick_dataclass import dataclass
from powercut.report.assertions import checked_extent
from powercut.report.finding_text import explain
from powercut.report.kind_texts import KINDS, pattern_rule_id
from powercut.report.lint import explain_misuse
from powercut.report.race import raced_extent
from powercut.report.source import source_lines
from powercut.report.summary import coverage_words, models_words
from powercut.runs.store import SavedRun, covered


class Level(StrEnum):
    """How much it matters: only errors fail a run."""

    ERROR = "error"  # a finding: a crash state on which the check fails; or an assertion that does not hold
    WARNING = "warning"  # a likely bug that lint reports
    NOTE = "note"  # a warning of lint, or a race that nothing confirms

    @property
    def label(self) -> str:
        """The same for people."""
        return _LABELS[self]


_LABELS = {Level.ERROR: "finding", Level.WARNING: "likely bug (lint)", Level.NOTE: "warning"}


class Outcome(StrEnum):
    """What a run comes to."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Problem:
    """One root cause.

    Attributes:
        rule: id of its rule.
        text: everything, as the terminal shows it.
        advice: what to change; empty if nobody knows.
        verified: whether that is known to help.
        confirmed: of a misuse, the finding that shows what comes of it; None if none does.
        known: why it is in the baseline; None if it is not.
        replay: how to get it back; empty for a misuse.
    """

    id: str
    rule: str
    level: Level
    title: str
    message: str
    locations: list[Location]
    text: str
    advice: str
    known: str | None
    replay: str = ""
    verified: bool = False
    confirmed: str | None = None

    @property
    def place(self) -> Location | None:
        """Where to show it: the first place that is in a file."""
        return next((location for location in self.locations if location.file), None)


@dataclass(frozen=True, slots=True)
class Step:
    """A frame of a stack that was saved as text; without a file, only the words are known."""

    words: str
    file: str | None = None
    line: int | None = None


def problems(run: SavedRun) -> list[Problem]:
    """Findings first, then misuses, each in the order of the run."""
    worst = Level.ERROR if run.assertions else Level.WARNING  # a failed assertion fails its run, a misuse does not
    return [*map(_of_finding, run.findings), *(_of_misuse(misuse, worst) for misuse in run.misuses)]


def verdict(run: SavedRun) -> tuple[Outcome, str]:
    """What a run comes to, and in words; an unknown outcome is not a pass."""
    count = sum(problem.level is Level.ERROR and problem.known is None for problem in problems(run))
    if count:
        return Outcome.FAILED, counted(count, "finding")
    if unexplained := run.states.get("unexplained"):
        return Outcome.FAILED, f"{counted(unexplained, 'failing state')} without an explanation"
    if run.interrupted:
        return Outcome.UNKNOWN, "Interrupted, no findings so far"
    if run.assertions:
        ending = run.assertions.get("ending")
        return (Outcome.UNKNOWN, f"The program {ending}") if ending else (Outcome.PASSED, "No findings")
    if unanswered := run.states.get("unanswered"):
        return Outcome.UNKNOWN, f"No verdict on {counted(unanswered, 'state')}, where the check did not end"
    tested = run.race.get("executions") if run.race else covered(run.states)
    return (Outcome.PASSED, "No findings") if tested else (Outcome.UNKNOWN, "Nothing tested")


def extent(run: SavedRun) -> str:
    """How much was looked at, in a line."""
    if run.race:
        return raced_extent(run)
    return checked_extent(run) if run.assertions else f"{coverage_words(run)} {models_words(run)}."


def steps(location: Location) -> Iterator[Step]:
    """The call stack of a place, outermost first: the way on which the program came there."""
    for frame in reversed(location.frames):
        yield Step(frame.words, frame.file, frame.line) if frame.has_source else Step(str(frame))


def missing_sources(run: SavedRun) -> list[str]:
    """Files that are named and cannot be read here: what they hold is left out of reports."""
    return [file for file in _named(run) if not source_lines(file)]


def changed_sources(run: SavedRun) -> list[str]:
    """Files that are named and hold something else than when they were kept: what they held then is shown."""
    return [file for file in _named(run) if sources().changed(file)]


def _named(run: SavedRun) -> list[str]:
    return list(dict.fromkeys(location.file for location in run.places if location.file))


def _of_finding(finding: Finding) -> Problem:
    fix = finding.fix.text if finding.fix is not None else ""
    how = how_to(finding)
    fix = f"{fix} ({how})" if how else fix
    kind = KINDS[finding.kind]
    return Problem(
        finding.id,
        kind.id,
        Level.ERROR if finding.severity == "error" else Level.NOTE,
        kind.title,
        finding.message,
        finding.locations,
        explain(finding),
        fix,
        finding.known,
        finding.replay,
        finding.fix is not None and finding.fix.verified,
    )


def _of_misuse(misuse: Misuse, worst: Level) -> Problem:
    return Problem(
        misuse.id,
        pattern_rule_id(misuse.pattern, misuse.why),
        worst if misuse.is_bug else Level.NOTE,
        misuse.title,
        misuse.message,
        misuse.locations,
        explain_misuse(misuse),
        misuse.advice,
        misuse.known,
        confirmed=misuse.finding,
    )

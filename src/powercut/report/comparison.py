"""What is new, gone and unchanged between two runs, by the ids of findings and misuses, which survive moved lines.

What a run does not show is gone only as far as the run could see: whether both covered everything, and with the same
models, is part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from powercut.printable import one_line
from powercut.quick_dataclass import dataclass
from powercut.report.problems import Level, Outcome, Problem, problems, verdict
from powercut.runs.store import SavedRun

_TITLES = ("new", "gone", "unchanged")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Problems of two runs, each in the order of its run; `doubts` say what weakens the answer."""

    new: list[Problem]
    gone: list[Problem]
    unchanged: list[Problem]
    doubts: list[str]

    @property
    def is_worse(self) -> bool:
        """Whether something is new that is wrong for sure and not in the baseline."""
        return any(problem.level is not Level.NOTE and problem.known is None for problem in self.new)


def compare(old: SavedRun, new: SavedRun) -> Comparison:
    """Compare two runs."""
    before, after = problems(old), problems(new)
    known, found = _ids(before), _ids(after)
    return Comparison(
        [problem for problem in after if problem.id not in known],
        [problem for problem in before if problem.id not in found],
        [problem for problem in after if problem.id in known],
        list(_doubts(old, new, bool(known - found))),
    )


def comparison_text(comparison: Comparison) -> str:
    """The comparison for people: a line for each problem."""
    parts = []
    for title in _TITLES:
        found: list[Problem] = getattr(comparison, title)
        if found:
            parts.append("\n".join([f"{title}:", *(f"  {_line(problem)}" for problem in found)]))
    counts = [f"{len(getattr(comparison, title))} {title}" for title in _TITLES]
    parts.append(", ".join(counts))
    return "\n\n".join(parts)


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The comparison for programs. Fields may be added; those here keep their meaning."""
    lists = {title: [_item(problem) for problem in getattr(comparison, title)] for title in _TITLES}
    return {**lists, "doubts": comparison.doubts, "worse": comparison.is_worse}


def _ids(some: Iterable[Problem]) -> set[str]:
    return {problem.id for problem in some}


def _doubts(old: SavedRun, new: SavedRun, some_gone: bool) -> Iterable[str]:
    if old.model != new.model:
        yield f"the models differ: {old.model} and {new.model}"
    if some_gone and not new.assertions and (new.interrupted or not new.states.get("exhausted")):
        yield "the second run did not cover every state: findings listed as gone may just not have been reached"
    outcome, words = verdict(new)
    if outcome is Outcome.UNKNOWN:
        yield f"the second run: {words}"


def _line(problem: Problem) -> str:
    place = f", {problem.place.short}" if problem.place else ""
    known = f" (in the baseline: {problem.known})" if problem.known is not None else ""
    return one_line(f"{problem.id}  {problem.level.label}: {problem.title}{place}{known}")


def _item(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "id": problem.id,
        "rule": problem.rule,
        "level": problem.level.value,
        "message": problem.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "known": problem.known,
    }

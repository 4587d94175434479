"""The figures of a finished run, as its report holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powercut.errors import ExitCode
from powercut.runs.store import BehaviorCounts, SavedRun
from powercut.search.events import Counts
from powercut.states.behaviors.tour import BehaviorTour
from powercut.states.estimate import Estimate
from powercut.states.failure_points import coverage_curve, failure_points
from powercut.states.timeline import Timeline


def coverage(timeline: Timeline) -> dict[str, Any]:
    """Whether the workload was long enough: the failure points it reached, and when."""
    points = failure_points(timeline)
    return {"failure_points": len(points), "curve": coverage_curve(timeline, points)}


def states_of(counts: Counts) -> dict[str, Any]:
    """How much was tested, of how many."""
    estimate = counts.total if isinstance(counts.total, Estimate) else None
    return {
        "tested": counts.tested,
        "known": counts.known,
        "equal": counts.equal,
        "equivalent": counts.equivalent,
        "left": counts.left if isinstance(counts.left, int) else None,
        "total": counts.total if isinstance(counts.total, int) else None,
        "estimate": None if estimate is None else {"log10": estimate.log10, "error": estimate.error},
        "checks": counts.checks,
        "forks": counts.forks,
        "failed": counts.failed,
        "unexplained": counts.unexplained,
        "unanswered": counts.unanswered,
        "exhausted": counts.exhausted,
        "by_strategy": counts.by_strategy,
    }


def behaviors_of(tours: Sequence[tuple[str, BehaviorTour]]) -> list[BehaviorCounts]:
    """What representative testing made of each model, by its name."""
    return [BehaviorCounts(model=name, told_by=tour.found.heuristics, **tour.counts()) for name, tour in tours]


def exit_code(run: SavedRun) -> ExitCode:
    """How a run ends for the shell."""
    if run.new_findings or run.states.get("unexplained"):  # nobody knows what the latter are
        return ExitCode.FINDINGS
    if run.race:
        return ExitCode.NOTHING_FOUND if run.race.get("executions") else ExitCode.NOTHING_COVERED
    judged = run.states["tested"] + run.states.get("known", 0)
    return ExitCode.NOTHING_FOUND if judged and not run.states.get("unanswered") else ExitCode.NOTHING_COVERED

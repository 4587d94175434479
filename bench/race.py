"""The races of Figures 1 and 2 of the PMRace paper: how soon each way of scheduling shows them.

Ten campaigns with scheduling, and, in the same run, turn by turn, as many with random delays, which get as much time
as scheduling is allowed. What plain executions show is counted, not timed.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from kit import Row, workspace
from race_hunt import Hunted, Target, hunt

from powercut.findings.finding import Finding, FindingKind

import race_cases  # isort: skip  (of the corpus, which race_hunt put on the path)

CAMPAIGNS = 10
BUDGET = 30.0  # seconds
FOUND = 9  # campaigns of ten that must find the race
SOONER = 5.0  # times, than with random delays
PLAIN = 20  # executions without a schedule
MOST_PLAIN = 0.1  # of which may show the race
FIGURES = ("figure-1", "figure-2")


def measure(campaigns: int = CAMPAIGNS, budget: float = BUDGET) -> list[Row]:
    """Both figures."""
    rows = []
    for name in FIGURES:
        with workspace() as space:
            target = figure(name, space)
            turns = [(hunt(target, "pm", n, budget), hunt(target, "random", n, budget)) for n in range(campaigns)]
            scheduled, delayed = zip(*turns, strict=True)
            plain = hunt(target, "none", 0, 4 * budget, lambda hunted: hunted.executions >= PLAIN)
            rows += _rows(name, scheduled, delayed, plain, budget)
    return rows


def figure(name: str, space: Path) -> Target:
    """The program of a figure."""
    (case,) = [case for case in race_cases.race_cases() if case.name == name]
    built = case.build("buggy", space)
    return Target(name, built.data, built.workload, built.recovery, built.check, _is_race)


def _is_race(finding: Finding) -> bool:
    return finding.kind is FindingKind.INTER_THREAD and finding.severity == "error"


def _rows(
    name: str, scheduled: tuple[Hunted, ...], delayed: tuple[Hunted, ...], plain: Hunted, budget: float
) -> list[Row]:
    count = len(scheduled)
    found, found_later = (sum(one.seconds is not None for one in some) for some in (scheduled, delayed))
    soon, later = (_median_time(some, budget) for some in (scheduled, delayed))
    worst = max(one.seconds or budget for one in scheduled)
    shown = sum(one.occurrences for one in plain.findings.values() if _is_race(one))
    share = shown / max(plain.executions, 1)
    enough = found >= FOUND * count / CAMPAIGNS
    return [
        Row(f"{name}: found, of {count}", found, "", "random delays", found_later, None, f">= {FOUND} of 10", enough),
        Row(f"{name}: slowest campaign", worst, "s", "budget", budget, None, f"< {budget:g} s", worst < budget),
        _sooner(f"{name}: median time", soon, later, count - found_later, count),
        Row(
            f"{name}: shown by {plain.executions} plain executions",
            shown,
            "",
            target="< 1 of 10",
            met=share < MOST_PLAIN,
        ),
    ]


def _median_time(some: tuple[Hunted, ...], budget: float) -> float:
    """How long it took; who did not find it within the budget counts as if it had at its end, which is too kind."""
    return median(budget if one.seconds is None else one.seconds for one in some)


def _sooner(name: str, soon: float, later: float, missed: int, count: int) -> Row:
    """How much sooner than with random delays: where half of those never found it, at least so much."""
    is_bound, ratio = 2 * missed >= count, later / soon
    against = "random delays" + (f" ({missed} of {count} not at all)" if missed else "")
    if is_bound:
        against += ": at least"
    met = None if is_bound and ratio < SOONER else ratio >= SOONER  # a bound that is too low says nothing
    return Row(name, soon, "s", against, later, ratio, f"ratio >= {SOONER:g}", met)

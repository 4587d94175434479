"""A run in short: what was found, how much of all crash states was tested, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from powercut.model.filesystem import DEFAULT, GROUPS
from powercut.printable import counted, one_line
from powercut.report.paint import PLAIN, Paint, Role
from powercut.runs.store import BehaviorCounts, SavedRun, covered, name_of
from powercut.states.estimate import Estimate


def summary_line(run: SavedRun, paint: Paint = PLAIN) -> str:
    """The last line of a run, which can be read alone."""
    failed = bool(run.new_findings or run.states.get("unexplained"))
    sure = covered(run.states) and not run.interrupted and not run.states.get("unanswered")
    role = Role.BAD if failed else Role.GOOD if sure else Role.WARNING
    return f"{paint(role, f'{found_words(run)}.')} {coverage_words(run)}"


def found_words(run: SavedRun) -> str:
    """How many findings there are."""
    count, known = len(run.findings), len(run.findings) - len(run.new_findings)
    baseline = f" ({'all' if known == count else known} in the baseline)" if known else ""
    words = f"{counted(count, 'finding')}{baseline}" if count else "No findings"
    if unexplained := run.states.get("unexplained"):
        are = "is" if unexplained == 1 else "are"
        return f"{words}. {counted(unexplained, 'failing state')} {are} not explained by any finding"
    if unanswered := run.states.get("unanswered"):
        return f"{words}. No verdict on {counted(unanswered, 'state')}, where the check did not end"
    return words if count or covered(run.states) else "Nothing tested"


def coverage_words(run: SavedRun) -> str:
    """How the crash states were covered, and how long that took."""
    return f"{_states(run.states)}. {run.seconds:,.1f} s."


def models_words(run: SavedRun) -> str:
    """The models that were tested; where nothing was found, that there are others."""
    names = run.model.split(",")
    default = tuple(name.partition("+")[0] for name in names) == GROUPS[DEFAULT]
    more = ". Other models: --fs all" if default and covered(run.states) and not run.findings else ""
    return one_line(f"Models: {', '.join(names)}{more}")


def _states(states: dict[str, Any]) -> str:
    cached, equivalent = states.get("known") or 0, states.get("equivalent") or 0
    parts = [f"{states.get('tested', 0):,} tested"]
    parts += [f"{cached:,} cached"] if cached else []
    parts += [f"{states.get('equal', 0):,} identical to a tested one"] if states.get("equal") else []
    parts += [f"{equivalent:,} equivalent"] if equivalent else []
    if states.get("estimate"):
        about = str(Estimate(**states["estimate"]))
        return f"{_capital(about)} crash states: {', '.join(parts)}, the others not tested"
    total = states.get("total")
    if states.get("exhausted") and total is not None:
        return f"All {total:,} crash states covered: {', '.join(parts)}"
    if total is None:
        return f"Crash states: {', '.join(parts)}"
    left = states.get("left")
    parts += [f"{left:,} not tested"] if left else []
    return f"{counted(total, 'crash state')}: {', '.join(parts)}"


def next_commands(run: SavedRun, folder: Path, paint: Paint = PLAIN) -> str:
    """What to do with findings; empty where there are none."""
    new = [finding for finding in run.findings if finding.known is None]
    if not new or not new[0].replay:
        return ""
    first = new[0]
    option = first.replay.partition(first.id)[2]  # where the runs are, if that is not the default
    rows = [
        (f"powercut show {first.id}{option}", "details, and the files after the crash"),
        (first.replay, "run the check on that crash state again"),
        (f"powercut report {name_of(folder)}{option} --html report.html", "all of this as a web page"),
    ]
    width = max(len(command) for command, _ in rows)
    lines = [f"  {paint(Role.COMMAND, one_line(f'{command:<{width}}'))}  {what}" for command, what in rows]
    return "\n".join(["Next:", *lines])


def behaviors_text(run: SavedRun) -> str:
    """What representative testing made of the trace, a line for each model."""
    return "\n".join(one_line(" ".join(_behaviors(found))) for found in run.behaviors)


def stages_text(run: SavedRun) -> str:
    """The share that each stage had in the time of a run."""
    if not run.stages:
        return ""
    whole = sum(run.stages.values()) or 1.0
    parts = [f"{name} {seconds:,.1f} s ({100 * seconds / whole:.0f} %)" for name, seconds in run.stages.items()]
    return one_line(f"Time: {', '.join(parts)}")


def _behaviors(found: BehaviorCounts) -> Iterator[str]:
    yield f"Behaviors ({found.model}): {found.behaviors:,} seen, {found.shapes:,} distinct,"
    yield f"in {counted(found.groups, 'group')};"
    yield f"{found.reached:,} tested, {found.explored:,} of them fully ({counted(found.states, 'state')})."
    if found.told_by:
        yield f"Grouped by {' and '.join(found.told_by)}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

"""Coverage: how many states there are, how many of them were tested and in what way, and what is left."""

from __future__ import annotations

from typing import Any

from powercut.printable import counted
from powercut.report.html.section import Material, Section
from powercut.runs.store import SavedRun

# The parts of all states, in the order in which they are drawn, and what each is.
_PARTS = {
    "tested": "the check ran on it",
    "known": "an earlier run tested the same image",
    "equal": "identical to a tested one",
    "equivalent": "the check cannot tell it from a tested one",
    "left": "nothing is known about it",
}
_NAMES = {"known": "cached", "equal": "identical", "left": "not tested"}


def section(material: Material) -> Section | None:
    """What was covered; None for a run that searched no states."""
    run = material.run
    if not run.states:
        return None
    data = {
        "parts": [(part, _NAMES.get(part, part), _number(run.states, part), what) for part, what in _PARTS.items()],
        "strategies": sorted(_counts(run.states.get("by_strategy")).items(), key=lambda pair: -pair[1]),
        "behaviors": run.behaviors,
        "points": _points(run),
    }
    return Section("coverage", "Coverage", None, data)


def bars(states: dict[str, Any]) -> list[tuple[str, str, int]]:
    """How the states divide, as far as that is known; a part that nobody counted is left out."""
    return [(part, _NAMES.get(part, part), number) for part in _PARTS if (number := _number(states, part))]


def _number(states: dict[str, Any], part: str) -> int | None:
    value = states.get(part)
    return value if isinstance(value, int) else None


def _counts(values: Any) -> dict[str, int]:
    """What a saved run says was counted, as far as it is numbers."""
    named = values.items() if isinstance(values, dict) else ()
    return {str(name): number for name, number in named if isinstance(number, int)}


def _points(run: SavedRun) -> str:
    """Whether the program ran long enough to reach what it relies on."""
    number = run.coverage.get("failure_points")
    if not isinstance(number, int):
        return ""
    return f"The program reached {counted(number, 'failure point')}: places that sync, flush or fence."

"""States a second with a check that is a Python function and does nothing."""

from __future__ import annotations

from pathlib import Path

import powercut
from kit import Row, Broken, at_least, turns, workspace
from rates import Arena

STATES = 5000
TURNS = 3
LEAST = 2000.0


def measure(rounds: int = TURNS, states: int = STATES) -> list[Row]:
    """`powercut.explore` with a function that lets everything pass."""
    with workspace() as space:
        arena = Arena.make(space)
        ours = {"powercut": lambda: explore_rate(arena, space, states), "C loop": arena.spawn_rate}
        figures = turns(rounds, ours)
    best, loop = max(figures["powercut"]), max(figures["C loop"])
    return [
        at_least("states with a no-op callable", best, "/s", "target", LEAST, ratio=1.0),
        at_least("states with a no-op callable", best, "/s", "C loop of spawns", loop),
    ]


def explore_rate(arena: Arena, space: Path, states: int) -> float:
    """States a second of one exploration."""
    run = powercut.explore(
        arena.workload,
        lambda path: None,
        dir=arena.folder,
        output=str(space / "runs"),
        max_states=states,
        budget="120s",
    )
    if run.findings:
        raise Broken("a check that does nothing found something")
    return float(run.states["tested"] / run.seconds)

"""States a second with a check that is a Python function and does nothing."""

from __future__ import annotations

from pathlib import Path

from kit import Broken, Row, at_least, turns, workspace
from rates import SHAPES, Arena, Shape

import powercut

STATES = 4000
TURNS = 4
LEAST = 2000.0


def measure(rounds: int = TURNS, states: int = STATES) -> list[Row]:
    """`powercut.explore` with a function that lets everything pass."""
    return [row for shape in SHAPES for row in measure_shape(shape, rounds, states)]


def measure_shape(shape: Shape, rounds: int, states: int) -> list[Row]:
    """One workload."""
    with workspace() as space:
        arena = Arena.make(space, shape)
        ours = {"powercut": lambda: explore_rate(arena, space, states), "C loop": arena.spawn_rate}
        figures = turns(rounds, ours)
    best, loop = max(figures["powercut"]), max(figures["C loop"])
    name = f"checks with a no-op callable, {shape.name}"
    return [
        at_least(name, best, "/s", "2,000 checks/s", LEAST, ratio=1.0),
        at_least(name, best, "/s", "C loop of spawns", loop),
    ]


def explore_rate(arena: Arena, space: Path, states: int) -> float:
    """Checks a second of one exploration."""
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
    return float(run.states["checks"] / run.stages["search"])

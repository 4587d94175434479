"""Runs of `--check true` a second, against a C loop that starts and reaps `true` on all cores."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kit import Row, at_least, cheaper, cpu_of_children, run, turns, workspace
from rates import SHAPES, SPAWN_SECONDS, Arena, Shape

STATES = 4000
TURNS = 4


def measure(rounds: int = TURNS, states: int = STATES) -> list[Row]:
    """The whole pipeline, of which the exploration counts: recording is done once, whatever is explored."""
    return [row for shape in SHAPES for row in measure_shape(shape, rounds, states)]


def measure_shape(shape: Shape, rounds: int, states: int) -> list[Row]:
    """One workload. The CPU time, of all processes together, hardly depends on what else the machine does."""
    ours: list[float] = []
    loops: list[float] = []
    with workspace() as space:
        arena = Arena.make(space, shape)

        def explore() -> float:
            rate, cpu = cpu_of_children(lambda: explore_rate(arena, space, states))
            ours.append(cpu / states)
            return rate

        def spawn() -> float:
            rate, cpu = cpu_of_children(arena.spawn_rate)
            loops.append(cpu / (rate * SPAWN_SECONDS))
            return rate

        figures = turns(rounds, {"powercut": explore, "C loop": spawn})
    best, loop = max(figures["powercut"]), max(figures["C loop"])
    name = f"checks with --check true, {shape.name}"
    return [
        at_least(name, best, "/s", "C loop of spawns", loop, ratio=0.65),
        cheaper(f"{name}: CPU", min(ours) * 1e6, "us", "C loop of spawns", min(loops) * 1e6),
    ]


def explore_rate(arena: Arena, space: Path, states: int) -> float:
    """Checks a second of one run of the command, as its JSON says."""
    report = space / "report.json"
    options = [
        "--check",
        "true",
        "--no-equivalence",
        "--no-fork-checks",
        "--dir",
        str(arena.folder),
        "--output",
        str(space / "runs"),
    ]
    limits = ["--max-states", str(states), "--budget", "120s", "--json", str(report)]
    run([sys.executable, "-m", "powercut", "test", *options, *limits, "--", *arena.workload], cwd=space)
    document = json.loads(report.read_text())
    return float(document["states"]["checks"] / document["stages"]["search"])

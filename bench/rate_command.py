"""Runs of `--check true` a second, against a C loop that starts and reaps `true` on all cores.

With the default settings but for equivalence, which ends such a search at once, and with a start for each state.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kit import Row, at_least, cheaper, cpu_of_children, run, turns, workspace
from rates import SHAPES, SPAWN_SECONDS, Arena, Shape

STATES = 4000
TURNS = 4
DEFAULT, STARTED, LOOP = "default settings", "started for each", "C loop of spawns"


def measure(rounds: int = TURNS, states: int = STATES) -> list[Row]:
    """The whole pipeline, of which the exploration counts: recording is done once, whatever is explored."""
    return [row for shape in SHAPES for row in measure_shape(shape, rounds, states)]


def measure_shape(shape: Shape, rounds: int, states: int) -> list[Row]:
    """One workload. The CPU time, of all processes together, hardly depends on what else the machine does."""
    cpu: dict[str, list[float]] = {name: [] for name in (DEFAULT, STARTED, LOOP)}
    with workspace() as space:
        arena = Arena.make(space, shape)

        def explore(name: str, *options: str) -> float:
            (rate, checks), seconds = cpu_of_children(lambda: explore_rate(arena, space, states, *options))
            cpu[name].append(seconds / checks)
            return rate

        def spawn() -> float:
            rate, seconds = cpu_of_children(arena.spawn_rate)
            cpu[LOOP].append(seconds / (rate * SPAWN_SECONDS))
            return rate

        contestants = {DEFAULT: lambda: explore(DEFAULT), STARTED: lambda: explore(STARTED, "--no-fork-checks")}
        best = {name: max(found) for name, found in turns(rounds, {**contestants, LOOP: spawn}).items()}
    least = {name: min(found) * 1e6 for name, found in cpu.items()}
    rows: list[Row] = []
    for way in (DEFAULT, STARTED):
        name = f"checks with --check true, {shape.name}, {way}"
        rows.append(at_least(name, best[way], "/s", LOOP, best[LOOP], ratio=0.65))
        rows.append(cheaper(f"{name}: CPU", least[way], "us", LOOP, least[LOOP]))
    return rows


def explore_rate(arena: Arena, space: Path, states: int, *more: str) -> tuple[float, int]:
    """Checks a second of one run of the command, as its JSON says, and how many these were."""
    report = space / "report.json"
    options = [
        "--check",
        "true",
        "--no-equivalence",
        "--dir",
        str(arena.folder),
        "--output",
        str(space / "runs"),
        *more,
    ]
    limits = ["--max-states", str(states), "--budget", "120s", "--json", str(report)]
    run([sys.executable, "-m", "powercut", "test", *options, *limits, "--", *arena.workload], cwd=space)
    document = json.loads(report.read_text())
    checks = document["states"]["checks"]
    return checks / document["stages"]["search"], checks

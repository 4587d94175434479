"""States a second with `--check true`, against a C loop that starts and reaps `true` on all cores."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kit import Row, at_least, run, turns, workspace
from rates import Arena

STATES = 5000
TURNS = 3


def measure(rounds: int = TURNS, states: int = STATES) -> list[Row]:
    """The whole pipeline, of which the exploration counts: recording is done once, whatever is explored."""
    with workspace() as space:
        arena = Arena.make(space)
        ours = {"powercut": lambda: explore_rate(arena, space, states), "C loop": arena.spawn_rate}
        figures = turns(rounds, ours)
    best, loop = max(figures["powercut"]), max(figures["C loop"])
    return [at_least("states with --check true", best, "/s", "C loop of spawns", loop, ratio=0.5)]


def explore_rate(arena: Arena, space: Path, states: int) -> float:
    """States a second of one run of the command, as its JSON says."""
    report = space / "report.json"
    options = ["--check", "true", "--dir", str(arena.folder), "--output", str(space / "runs")]
    limits = ["--max-states", str(states), "--budget", "120s", "--json", str(report)]
    run([sys.executable, "-m", "powercut", "test", *options, *limits, "--", *arena.workload], cwd=space)
    document = json.loads(report.read_text())
    return float(document["states"]["tested"] / document["seconds"])

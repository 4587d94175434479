"""How the search grows with the trace: traces of the corpus store, four times as long each; the same number of states.

For every length: the CPU seconds of all processes and the peak memory of the largest one, both less those of a search
for a single state of a tiny trace. The ratio is the growth against that of the updates since the shortest: 1 is linear.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from kit import Broken, Row, workspace
from known_bugs import Store, build_store
from run import table

from powercut.model.filesystem import file_systems
from powercut.settings import Settings
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace

POWERCUT = Path(sys.executable).with_name("powercut")
CHANGES = (11_000, 44_000, 176_000)  # of the store: 10,000, 40,000 and 160,000 updates
STATES = 1000
WORST = 1.3  # growth for each time the trace grows as much, with what noise adds


@dataclass(frozen=True, slots=True)
class Figures:
    """What one search took."""

    updates: int
    seconds: float
    memory: float  # MB


def search(store: Store, changes: int, folder: Path, states: int, strategies: str) -> Figures:
    """Record a workload, and search its trace for some states."""
    data, trace = folder / "data", folder / "trace"
    data.mkdir(parents=True)
    workload = [str(store.program), str(data), "run", "3", str(changes)]
    _run(["record", "-o", trace, "--dir", data, "--", *workload], folder)
    options = ["--max-states", states, "--budget", "1h", "--strategies", strategies, "--no-lint"]
    seconds, memory = _run(["explore", trace, "--check", store.check, *options], folder)
    updates = Timeline(Trace.open(trace), file_systems(Settings().fs)[0]).updates
    return Figures(len(updates), seconds, memory)


def _run(words: Sequence[object], folder: Path) -> tuple[float, float]:
    """Run powercut; CPU seconds of it and all it started, and the peak memory of its largest process in MB."""
    process = subprocess.Popen([POWERCUT, *map(str, words)], cwd=folder, stdout=DEVNULL, stderr=DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Broken(f"powercut {words[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(lengths: Sequence[int] = CHANGES, states: int = STATES, strategies: str = "all") -> list[Row]:
    """A row of time and one of memory for each length."""
    with workspace() as space:
        store = Store(build_store(space))
        base = search(store, 100, space / "base", 1, "only-guaranteed")
        found = [search(store, changes, space / str(changes), states, strategies) for changes in lengths]
    rows: list[Row] = []
    for figures in found:
        title = f"{states} states of {figures.updates:,} updates"
        rows.append(_row(f"{title}: CPU", "s", figures, found[0], "seconds", base.seconds))
        rows.append(_row(f"{title}: memory", "MB", figures, found[0], "memory", base.memory))
    return rows


def _row(name: str, unit: str, figures: Figures, first: Figures, what: str, base: float) -> Row:
    mine, smallest = getattr(figures, what) - base, getattr(first, what) - base
    growth = mine / smallest / (figures.updates / first.updates)
    return Row(name, mine, unit, "shortest", smallest, growth, f"ratio <= {WORST:g}", growth <= WORST)


if __name__ == "__main__":
    print(table(measure()), end="")

"""Mumak's job at scale: every unique failure point of PMDK's maps, injected from one trace, with time and memory.

For each map and number of operations (a third each insert, get, remove): the seconds to record and judge, and the peak
memory. The ratio is the growth of time against that of operations since the smallest size: 1 is linear.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from kit import Broken, Row, at_most, workspace

from powercut.native_programs import why_no_memory_tool

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

import pmdk_programs as programs
from harness import POWERCUT

MAPS = ("btree", "rbtree", "hashmap_tx")
SIZES = (15_000, 50_000, 150_000)
MOST_SECONDS, MOST_MEMORY = 300.0, 2048.0


def commands(operations: int) -> str:
    """Inserts, look-ups and removals in turn, of random keys; few keys are there at a time, so the pool stays small."""
    rnd = random.Random(operations)
    keys = rnd.sample(range(3, operations), operations // 3)
    lines, there = [], []
    for key in keys:
        there.append(key)
        gone = there.pop(rnd.randrange(len(there))) if len(there) > 100 else None
        lines += [f"i {key}", f"c {rnd.choice(there)}"] + ([f"r {gone}"] if gone is not None else [])
    return "".join(f"{line}\n" for line in lines + [f"r {key}" for key in there])


@dataclass(frozen=True, slots=True)
class Figures:
    """What one workload took."""

    seconds: float
    events: int
    points: int
    findings: int
    memory: float


def inject(kind: str, operations: int, built: Path, folder: Path) -> Figures:
    """Record one workload, and judge a kill at each of its failure points."""
    data = folder / "data"
    data.mkdir(parents=True)
    (folder / "commands").write_text(commands(operations))
    programs.make_map(built, data / "pool", kind)
    workload = ["sh", programs.PMDK / "mapcli.sh", built / "mapcli", kind, data / "pool", folder / "commands"]
    started = time.monotonic()
    _run([POWERCUT, "record", "--tracer", "memory", "-o", "trace", "--dir", data, "--", *workload], folder)
    options = ["--strategies", "failure-points", "--budget", "10m", "--json", "report.json"]
    check = f"{built / 'mapcli'} {kind} pool 1"
    memory = _run([POWERCUT, "explore", "trace", "--check", check, *options], folder)
    seconds = time.monotonic() - started
    report = json.loads((folder / "report.json").read_text())
    reached = report["coverage"]
    return Figures(seconds, reached["curve"][-1][0], reached["failure_points"], len(report["findings"]), memory)


def _run(command: list[object], folder: Path) -> float:
    """Run to the end; the peak memory of its largest process, in MB."""
    process = subprocess.Popen([str(word) for word in command], cwd=folder, stdout=DEVNULL, stderr=DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Broken(f"{command[1]} ended with {process.returncode}")
    return usage.ru_maxrss / 1024


def measure(sizes: Sequence[int] = SIZES, maps: Sequence[str] = MAPS) -> list[Row]:
    """One row of time and one of memory for each map and size; the smallest size is what growth is compared with."""
    if not programs.available() or why_no_memory_tool():
        raise Broken("PMDK's examples (libpmemobj-dev) and valgrind are needed")
    rows: list[Row] = []
    with workspace() as space:
        built = space / "built"
        built.mkdir()
        programs.build(built)
        for kind in maps:
            first: Figures | None = None
            for operations in sizes:
                found = inject(kind, operations, built, space / f"{kind}-{operations}")
                first = first or found
                rows += _rows(f"{kind}, {operations:,} operations", operations / sizes[0], found, first)
    return rows


def _rows(name: str, larger: float, found: Figures, first: Figures) -> list[Row]:
    growth = found.seconds / first.seconds / larger
    points = f"{name}: {found.points} failure points of {found.events:,} events, {found.findings} findings"
    return [
        Row(
            points,
            found.seconds,
            "s",
            "limit",
            MOST_SECONDS,
            growth,
            f"< {MOST_SECONDS:g} s",
            found.seconds < MOST_SECONDS,
        ),
        at_most(f"{name}: memory", found.memory, "MB", MOST_MEMORY),
    ]

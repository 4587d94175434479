"""Assertions: what a record costs the program and the worker, that memory stays, and what checked maps cost.

The loop of assertions_loop.c makes transactions of eight records each on a working set. Costs are CPU time, the least
of some turns. Memory is the peak of the checking process, for a run and one four times as long over a growing pool. The
maps are the five of corpus/assertions, hand-tracked, with one worker: CPU time of the program and wall time against the
same source built without checks, as geometric means over maps and sizes of items.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kit import HERE, Row, at_most, run, turns, workspace

from powercut.assertions.build import checker, compiler_flags, linker_flags

CORPUS = HERE.parent / "corpus" / "assertions"
TURNS, MAP_TURNS = 5, 3
TRANSACTIONS = 200_000
OBJECTS, SIZE = 4096, 64
APPLICATION_NS, WORKER_NS = 25.0, 50.0
MEMORY_RATIO, TRACE_RATIO = 1.1, 1.1
CPU_RATIO, WALL_RATIO = 1.5, 1.7
MAP_OPERATIONS, POOL = 20_000, 256 << 20


def measure() -> list[Row]:
    """All rows."""
    with workspace() as folder:
        loop = _build_loop(folder)
        rows = [*_records(loop, folder), _memory(loop, folder), _long_traces(loop, folder)]
        return rows + (_maps(folder) if CORPUS.is_dir() else [])


def _build_loop(folder: Path) -> Path:
    program = folder / "assertions_loop"
    source = HERE / "assertions_loop.c"
    run(["cc", "-O2", *compiler_flags(), "-o", str(program), str(source), *linker_flags()])
    return program


def _checked(command: Sequence[str], folder: Path) -> tuple[str, dict[str, Any], int]:
    """Run a program under the checker: what it printed, the outcome, and the checker's peak of memory in KB."""
    out = folder / "outcome.json"
    process = subprocess.Popen([checker(), "--out", out, "--", *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return printed, json.loads(out.read_bytes()), usage.ru_maxrss


def _loop(
    program: Path, folder: Path, *, transactions: int = TRANSACTIONS, objects: int = OBJECTS, trace: int = 1
) -> tuple[float, float, int]:
    """Nanoseconds a record in the program and in the worker, and the checker's memory in KB."""
    words = [str(program), str(objects), str(SIZE), str(transactions), str(trace)]
    printed, outcome, memory = _checked(words, folder)
    return float(printed.split()[0]), outcome["checking_ns"] / outcome["operations"], memory


def _records(program: Path, folder: Path) -> list[Row]:
    figures = [_loop(program, folder) for _ in range(TURNS)]
    return [
        at_most("a record in the program's thread", min(f[0] for f in figures), "ns", APPLICATION_NS),
        at_most("a record in the worker", min(f[1] for f in figures), "ns", WORKER_NS),
    ]


def _memory(program: Path, folder: Path) -> Row:
    """The longer run writes to four times as many objects."""
    short, long = (
        _loop(program, folder, transactions=count, objects=count, trace=1000)[2] / 1024
        for count in (2_000_000, 8_000_000)
    )
    ratio = long / short
    met = ratio <= MEMORY_RATIO
    target = f"<= {MEMORY_RATIO:g} times"
    return Row("memory of the checker, 4 times the run", long, "MB", "the shorter run", short, ratio, target, met)


def _long_traces(program: Path, folder: Path) -> Row:
    lengths = {"one": 1, "thousand": 1000}
    figures = turns(2 * TURNS, {name: partial(_worker_cost, program, folder, n) for name, n in lengths.items()})
    one, thousand = min(figures["one"]), min(figures["thousand"])
    ratio = thousand / one
    target, met = f"<= {TRACE_RATIO:g} times", ratio <= TRACE_RATIO
    return Row("a record, 1,000 transactions in a trace", thousand, "ns", "1 in a trace", one, ratio, target, met)


def _worker_cost(program: Path, folder: Path, trace: int) -> float:
    return _loop(program, folder, trace=trace)[1]


def _maps(folder: Path) -> list[Row]:
    sys.path.insert(0, str(CORPUS))
    from assertion_cases import MAPS, SIZES, build_maps

    plain, checked = build_maps(folder, checked=False), build_maps(folder)
    cpu, wall = [], []
    for name in MAPS:
        for size in SIZES:
            words = [name, "--operations", str(MAP_OPERATIONS), "--keys", "0", "--size", str(size), "--time"]
            words += ["--pool-size", str(POOL)]
            without, with_checks = _best(plain, words), _best(checked, words)
            cpu.append(with_checks["cpu"] / without["cpu"])
            wall.append(with_checks["wall"] / without["wall"])
    return [
        _mean("maps with assertions: CPU time of the program", cpu, CPU_RATIO),
        _mean("maps with assertions: wall time", wall, WALL_RATIO),
    ]


def _best(program: Path, words: Sequence[str]) -> dict[str, float]:
    """The least of some turns, of each clock."""
    best: dict[str, float] = {}
    for _ in range(MAP_TURNS):
        for line in run([str(program), *words]).splitlines():
            name, _, figure = line.partition(" ")
            best[name] = min(float(figure), best.get(name, math.inf))
    return best


def _mean(name: str, ratios: Sequence[float], most: float) -> Row:
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return Row(name, mean, "times", "without checks", 1.0, mean, f"<= {most:g} times", mean <= most)

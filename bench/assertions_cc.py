"""What assertions cost through `powercut cc`: the maps of corpus/assertions, tracked by their instructions.

The program and its workload are those of `assertions`; nothing is told by hand but transactions and what is asserted.
Wall time ends when everything is checked. What counts is the geometric mean over five maps and four sizes of values.
The second figure is what the instructions that were put in cost while nothing is checked.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean

from assertions import Cost, Key, contest, insertion
from kit import HERE, Row, dearer, workspace

from powercut.assertions.build import include_folder

sys.path.insert(0, str(HERE.parent / "corpus" / "assertions"))

from assertion_cases import MAPS, SIZES, SOURCE, build_maps, build_tracked_maps

TURNS = 5
INSERTS = 20_000
MOST_WALL = 2.5  # times the program without checks

Costs = dict[Key, Cost]


def measure(rounds: int = TURNS, inserts: int = INSERTS) -> list[Row]:
    """All of it."""
    with workspace() as space:
        programs = [build_maps(space, checked=False), build_idle_maps(space), build_tracked_maps(space)]
        costs: list[Costs] = [{}, {}, {}]
        for key in ((name, size) for size in SIZES for name in MAPS):
            commands = [[program, *insertion(*key, inserts)] for program in programs]
            for cost, best in zip(costs, contest(rounds, *commands), strict=True):
                cost[key] = best
    plain, idle, tracked = costs
    return [
        slowdown("powercut cc", tracked, plain, times=MOST_WALL),
        *(slowdown("powercut cc", tracked, plain, size) for size in SIZES),
        slowdown("powercut cc, nothing checked", idle, plain),
    ]


def slowdown(what: str, tracked: Costs, plain: Costs, size: int | None = None, *, times: float | None = None) -> Row:
    """Wall time against the program without checks, over all or for one size of values."""
    keys = [key for key in plain if size in (None, key[1])]
    cost, other = (1e3 * geometric_mean(costs[key].wall for key in keys) for costs in (tracked, plain))
    which = f"{len(keys)} maps and sizes" if size is None else f"five maps, {size} bytes"
    return dearer(f"{what}, {which}, wall", cost, "ms", "without", other, times=times)


def build_idle_maps(folder: Path) -> Path:
    """The maps with the instructions of `powercut cc`, but without any call of powercut.h."""
    program = folder / "maps-idle"
    compiler = [str(Path(sys.executable).with_name("powercut")), "cc", "-std=gnu11", "-g", "-O2", "-UPOWERCUT"]
    sources = sorted(map(str, SOURCE.glob("*.c")))
    subprocess.run([*compiler, f"-I{include_folder()}", *sources, "-o", str(program)], check=True)
    return program

"""What `powercut guard` costs a service: operations a second and CPU time, guarded against alone, turn by turn.

A request/response service: the cache of corpus/hardfaults, asked over its socket by guard_client.c, one request after
the answer to the last, sets and gets in turn; time is the client's. An in-memory map: maps of PMDK's examples in a new
pool, into which guard_map.c inserts random keys; time is the program's. Both clocks start when the service is up and
has done some work: the copy of the pool at the start is not in the figures. CPU time is that of the service's process
alone. Pool and log lie in memory, where libpmem and the guard flush cache lines as on persistent memory.

Maps are compared by pairs: of each pair of turns the throughput with guard to that without, by CPU time, which is what
other programs on the machine change least; the median of the pairs counts.

    python bench/guard.py [MAP]...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from kit import HERE, Broken, Row, at_least, compile_c, dearer, run, turns, workspace

sys.path.insert(0, str(HERE.parent / "corpus"))

import pmdk_programs
from hard_faults import ENVIRONMENT, FAULTS, Service, build, guard_command

TURNS = 5
PAIRS = 9
MAPS = ("btree", "hashmap_tx", "rbtree", "ctree")
INSERTS = 200_000
REQUESTS = 100_000
LEAST_MAP, LEAST_SERVICE = 0.85, 0.95  # of the throughput without guard
ALONE, GUARDED = "alone", "guarded"


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of an operation, by the clock and of the processor."""

    wall: float
    cpu: float


def measure(rounds: int = TURNS, inserts: int = INSERTS, requests: int = REQUESTS) -> list[Row]:
    """The service, then the maps."""
    if not pmdk_programs.available():
        raise Broken("PMDK's examples (libpmemobj-dev) are needed")
    os.environ.update(ENVIRONMENT)
    with workspace() as space:
        build(space)
        client, maps = compile_c("guard_client.c", space), build_maps(space)
        rows = compare("requests over a socket", rounds, partial(ask, client, space, requests), LEAST_SERVICE)
        for name in MAPS:
            rows += by_pairs(f"inserts into {name}", PAIRS, partial(insert, maps, name, inserts), LEAST_MAP)
        return rows


def build_maps(space: Path) -> Path:
    """Compile the program that inserts."""
    program = space / "guard_map"
    pmdk_programs.compile_with_maps(program, HERE / "guard_map.c")
    return program


def compare(what: str, rounds: int, operate: Callable[[Path, bool], Cost], least: float) -> list[Row]:
    """Both ways, turn by turn, the best of each; each run in a folder of its own."""
    seen: dict[str, list[Cost]] = {ALONE: [], GUARDED: []}

    def once(way: str) -> float:
        with workspace() as folder:
            seen[way].append(operate(folder, way == GUARDED))
        return 0.0

    turns(rounds, {way: partial(once, way) for way in seen})
    best = {way: Cost(min(one.wall for one in costs), min(one.cpu for one in costs)) for way, costs in seen.items()}
    alone, guarded = best[ALONE], best[GUARDED]
    return [
        at_least(f"{what}, guarded", 1e6 / guarded.wall, "/s", ALONE, 1e6 / alone.wall, ratio=least),
        dearer(f"{what}, CPU of the service, guarded", guarded.cpu, "us", ALONE, alone.cpu),
    ]


def by_pairs(what: str, pairs: int, operate: Callable[[Path, bool], Cost], least: float) -> list[Row]:
    """Both ways, turn by turn; the median of the ratios within each pair."""
    seen: dict[bool, list[Cost]] = {False: [], True: []}
    for _ in range(pairs):
        for guarded in seen:
            with workspace() as folder:
                seen[guarded].append(operate(folder, guarded))
    together = list(zip(seen[False], seen[True], strict=True))
    cpu = median(alone.cpu / guarded.cpu for alone, guarded in together)
    wall = median(alone.wall / guarded.wall for alone, guarded in together)
    target, alone_cpu = f"median of {pairs} pairs >= {least:g}", median(one.cpu for one in seen[False])
    return [
        Row(f"{what}, guarded, by CPU time", cpu, "x", "alone", 1.0, cpu, target, cpu >= least),
        Row(f"{what}, guarded, by the clock", wall, "x", "alone", 1.0, wall),
        Row(f"{what}, CPU of the service alone", alone_cpu, "us"),
    ]


def ask(client: Path, programs: Path, requests: int, folder: Path, guarded: bool) -> Cost:
    """Requests of one client to the cache."""
    service = Service(next(fault for fault in FAULTS if fault.program == "cache"), programs, folder)
    with service.running(guard_command(service.log) if guarded else []):
        return _cost(run([str(client), str(service.socket), str(requests)]))


def insert(maps: Path, name: str, inserts: int, folder: Path, guarded: bool) -> Cost:
    """Inserts into a map in a new pool."""
    guard = guard_command(folder / "log") if guarded else []
    return _cost(run([*guard, str(maps), name, str(folder / "pool"), str(inserts)]))


def _cost(printed: str) -> Cost:
    wall, cpu = map(float, printed.split())
    return Cost(wall, cpu)


def main(names: Sequence[str]) -> None:
    """The maps alone."""
    os.environ.update(ENVIRONMENT)
    with workspace() as space:
        maps = build_maps(space)
        for name in names or MAPS:
            for row in by_pairs(f"inserts into {name}", PAIRS, partial(insert, maps, name, INSERTS), LEAST_MAP):
                print(f"{row.name}: {row.measured:.3f} {row.unit} {row.target}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

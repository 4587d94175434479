"""What hand-tracked assertions cost: the maps of corpus/assertions with and without them, and the engine itself.

The program is the same but for `-DPOWERCUT`: inserts of new keys that write, flush (clwb) and fence for real, each a
transaction of a persistent map, in memory that is mapped before. Application CPU is that of the program's own process;
wall time ends when everything is checked. Both are from pc_init to pc_exit, the best of some turns; what counts is the
geometric mean over five maps and four sizes of values. One worker checks.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from kit import HERE, Broken, Row, at_most, dearer, run, turns, workspace

from powercut.assertions.build import checker
from powercut.assertions.checker import CheckOptions, run_checked
from powercut.assertions.outcome import Outcome

sys.path.insert(0, str(HERE.parent / "corpus" / "assertions"))

from assertion_cases import MAPS, SIZES, build_maps

TURNS = 7
INSERTS = 20_000
MOST_CPU, MOST_WALL = 1.5, 1.7  # times the program without checks
MOST_RECORD, MOST_CHECK = 25.0, 50.0  # nanoseconds a record
LENGTH, TIMES = 40_000, 8  # operations of a run on the same few keys, and how many times as long the other is


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Programs:
    """The maps, without checks and with them."""

    plain: Path
    checked: Path


def measure(rounds: int = TURNS, inserts: int = INSERTS) -> list[Row]:
    """All of it."""
    with workspace() as space:
        programs = Programs(build_maps(space, checked=False), build_maps(space))
        plain, checked = compare(programs, rounds, inserts)
        outcomes = {key: check(programs.checked, *insertion(*key, inserts)) for key in checked}
        return [
            *slowdowns(plain, checked),
            *record_costs(plain, checked, outcomes),
            *trace_lengths(programs.checked, rounds, inserts),
            *memory(programs.checked, space),
        ]


Costs = dict[tuple[str, int], Cost]  # by map and size of values


def compare(programs: Programs, rounds: int, inserts: int) -> tuple[Costs, Costs]:
    """Every map with every size of values, without and with checks, turn by turn."""
    plain, checked = {}, {}
    for key in ((name, size) for size in SIZES for name in MAPS):
        words = insertion(*key, inserts)
        plain[key], checked[key] = contest(rounds, [programs.plain, *words], [programs.checked, *words])
    return plain, checked


def insertion(name: str, size: int, inserts: int) -> list[str]:
    """The workload: inserts of new keys, in a pool that has room for them."""
    room = (8 << 20) + inserts * (size + 512)
    return [name, "--keys", "0", "--operations", str(inserts), "--size", str(size), "--pool-size", str(room)]


def contest(rounds: int, *commands: list[str | Path]) -> list[Cost]:
    """The best CPU and wall time of each command, all turn by turn."""
    seen: dict[str, list[Cost]] = {str(number): [] for number in range(len(commands))}

    def contestant(number: str, command: list[str | Path]) -> Callable[[], float]:
        def once() -> float:
            seen[number].append(timed_run(command))
            return 0.0

        return once

    turns(rounds, {str(number): contestant(str(number), command) for number, command in enumerate(commands)})
    return [Cost(min(cost.cpu for cost in costs), min(cost.wall for cost in costs)) for costs in seen.values()]


def timed_run(command: Iterable[str | Path]) -> Cost:
    """One run, as the program itself tells its times."""
    words = run([*map(str, command), "--time"]).split()
    told = dict(zip(words[::2], words[1::2], strict=True))
    return Cost(float(told["cpu"]), float(told["wall"]))


def check(program: Path, *words: str) -> Outcome:
    """One run under powercut check, which tells what was checked."""
    outcome, _ = run_checked([str(program), *words], HERE, CheckOptions(quiet=True))
    if outcome.code or outcome.signal or outcome.findings:
        raise Broken(f"{' '.join(words)}: the map is not correct")
    return outcome


def slowdowns(plain: Costs, checked: Costs) -> list[Row]:
    """Application CPU and wall time, over all and for each size of values."""
    rows = []
    for size in (None, *SIZES):
        keys = [key for key in plain if size in (None, key[1])]
        what = f"{len(keys)} maps and sizes" if size is None else f"five maps, {size} bytes"
        for clock, most in (("cpu", MOST_CPU), ("wall", MOST_WALL)):
            cost, other = (
                1e3 * geometric_mean(getattr(costs[key], clock) for key in keys) for costs in (checked, plain)
            )
            name = f"assertions, {what}, {'application CPU' if clock == 'cpu' else 'wall'}"
            rows.append(dearer(name, cost, "ms", "without", other, times=most if size is None else None))
    return rows


def record_costs(plain: Costs, checked: Costs, outcomes: dict[tuple[str, int], Outcome]) -> list[Row]:
    """Nanoseconds a record, in the thread that records and in the one that checks."""
    records = sum(outcome.operations for outcome in outcomes.values())
    application = 1e9 * sum(checked[key].cpu - plain[key].cpu for key in plain) / records
    worker = sum(outcome.checking_ns for outcome in outcomes.values()) / records
    return [
        at_most("assertions: a record in the application thread", max(application, 0.1), "ns", MOST_RECORD),
        at_most("assertions: a record in the worker", worker, "ns", MOST_CHECK),
    ]


def trace_lengths(program: Path, rounds: int, inserts: int) -> list[Row]:
    """Many transactions in one trace against one in each."""
    rows = []
    for name in ("hashmap-tx", "hashmap-atomic"):  # with transactions, and with questions about order
        words = [program, *insertion(name, SIZES[0], inserts), "--trace"]
        long, short = contest(rounds, [*words, "1000"], [*words, "1"])
        cost, other = (1e9 * one.wall / inserts for one in (long, short))
        rows.append(dearer(f"{name}: an insert, 1,000 in a trace", cost, "ns", "1 in a trace", other, times=1.0))
    return rows


def memory(program: Path, space: Path) -> list[Row]:
    """The checker's memory after a run, and after one on the same keys that is longer."""
    short, long = (
        max(peak(program, space, operations, name) for name in MAPS) for operations in (LENGTH, TIMES * LENGTH)
    )
    return [
        Row(f"assertions: memory of the checker, {TIMES * LENGTH:,} operations", long / 1e6, "MB"),
        at_most(f"assertions: memory for {TIMES} times the operations", long / short, "times", 1.05),
    ]


def peak(program: Path, space: Path, operations: int, name: str) -> int:
    """The most memory that the checking process had, in bytes; it is looked at while it runs."""
    words = [str(checker()), "--out", str(space / "outcome"), "--", str(program), name, "--keys", "500"]
    process = subprocess.Popen([*words, "--operations", str(operations)], stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, peak_of(process.pid))
        time.sleep(0.002)
    if process.returncode != 0 or most == 0:
        raise Broken("the checker failed")
    return most


def peak_of(pid: int) -> int:
    """The most memory a process had so far, in bytes; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)

"""What assertions cost: a record in the program and in the worker, hand-tracked maps, memory.

A record by itself: the loop of assertions_loop.c makes transactions of eight records each on a small working set. In a
program: the maps of corpus/assertions with and without checks, the same source but for `-DPOWERCUT`. It inserts new
keys, writing, flushing (clwb) and fencing for real, in memory that is mapped before. CPU is that of the program's own
process, wall time ends when everything is checked, both from pc_init to pc_exit, the best of some turns; what counts is
the geometric mean over maps and sizes of values. One worker checks.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean

from kit import HERE, Broken, Row, at_most, dearer, run, turns, workspace

from powercut.assertions.build import checker, compiler_flags, linker_flags
from powercut.assertions.outcome import Outcome, read_outcome

sys.path.insert(0, str(HERE.parent / "corpus" / "assertions"))

from assertion_cases import MAPS, SIZES, build_maps

TURNS = 5
TRANSACTIONS, OBJECTS, SIZE = 200_000, 4096, 64  # of the loop
INSERTS = 20_000
MOST_CPU, MOST_WALL = 1.5, 1.7  # times the program without checks
MOST_RECORD, MOST_CHECK = 25.0, 50.0  # nanoseconds a record
MOST_UNTRACKED = 2.0  # nanoseconds a call
NOISE = 1.1  # two measurements of the same thing differ as much on a busy machine
LONGER = 8  # times: the run whose memory is compared
POLL = 0.002  # seconds

Key = tuple[str, int]  # a map, and the size of its values
Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run of the maps."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Check:
    """One run under the checker: what the program printed, what was checked, and the checker's most memory in bytes."""

    printed: str
    outcome: Outcome
    peak: int

    @property
    def record(self) -> float:
        """Nanoseconds that checking a record took."""
        return self.outcome.checking_ns / self.outcome.operations


def measure(rounds: int = TURNS, inserts: int = INSERTS) -> list[Row]:
    """All rows."""
    with workspace() as space:
        plain, checked = build_maps(space, checked=False), build_maps(space)
        return [
            *loop_rows(build_loop(space), space, rounds),
            *map_rows(plain, checked, space, rounds, inserts),
            *trace_rows(checked, space, rounds, inserts),
            *memory_rows(checked, space, inserts),
        ]


def build_loop(space: Path) -> Path:
    """Compile the loop."""
    program = space / "assertions_loop"
    source = str(HERE / "assertions_loop.c")
    run(["cc", "-O2", *compiler_flags(), "-o", str(program), source, *linker_flags()])
    return program


def loop_rows(loop: Path, space: Path, rounds: int) -> list[Row]:
    """A record by itself."""
    command = [loop, *map(str, (OBJECTS, SIZE, TRANSACTIONS, 1000))]
    runs = [check(command, space) for _ in range(rounds)]
    program = min(float(one.printed.split()[0]) for one in runs)
    untracked = min(float(one.printed.split()[2]) for one in runs)
    return [
        at_most("a call in a thread that is not tracked", untracked, "ns", MOST_UNTRACKED),
        at_most("a record in the program's thread", program, "ns", MOST_RECORD),
        at_most("a record in the worker", min(one.record for one in runs), "ns", MOST_CHECK),
    ]


def map_rows(plain: Path, checked: Path, space: Path, rounds: int, inserts: int) -> list[Row]:
    """The maps without and with checks, turn by turn, and what that makes for a record."""
    without: dict[Key, Cost] = {}
    with_checks: dict[Key, Cost] = {}
    checks: dict[Key, Check] = {}
    for key in ((name, size) for size in SIZES for name in MAPS):
        words = insertion(*key, inserts)
        without[key], with_checks[key] = contest(rounds, [plain, *words], [checked, *words])
        checks[key] = min((check([checked, *words], space) for _ in range(rounds)), key=lambda one: one.record)
    records = sum(one.outcome.operations for one in checks.values())
    in_program = 1e9 * sum(with_checks[key].cpu - without[key].cpu for key in without) / records
    in_worker = sum(one.outcome.checking_ns for one in checks.values()) / records
    return [
        *slowdowns(without, with_checks),
        at_most("maps: a record in the program's thread", in_program, "ns", MOST_RECORD),
        at_most("maps: a record in the worker", in_worker, "ns", MOST_CHECK),
    ]


def slowdowns(without: dict[Key, Cost], with_checks: dict[Key, Cost]) -> list[Row]:
    """Application CPU and wall time, over all and for each size of values."""
    rows = []
    for size in (None, *SIZES):
        keys = [key for key in without if size in (None, key[1])]
        what = "all sizes" if size is None else f"{size} bytes"
        for clock, label, most in (("cpu", "application CPU", MOST_CPU), ("wall", "wall", MOST_WALL)):
            cost, other = (
                1e3 * geometric_mean(getattr(costs[key], clock) for key in keys) for costs in (with_checks, without)
            )
            limit = most if size is None else None
            rows.append(dearer(f"five maps, {what}, {label}", cost, "ms", "without checks", other, times=limit))
    return rows


def insertion(name: str, size: int, inserts: int) -> list[str]:
    """The workload: inserts of new keys, in a pool that has room for them."""
    room = (8 << 20) + inserts * (size + 512)
    return [name, "--keys", "0", "--operations", str(inserts), "--size", str(size), "--pool-size", str(room)]


def contest(rounds: int, *commands: Command) -> list[Cost]:
    """The best CPU and wall time of each command, all turn by turn."""
    seen: list[list[Cost]] = [[] for _ in commands]

    def once(number: int) -> float:
        seen[number].append(timed_run(commands[number]))
        return 0.0

    contestants: dict[str, Callable[[], float]] = {str(n): partial(once, n) for n in range(len(commands))}
    turns(rounds, contestants)
    return [Cost(min(cost.cpu for cost in costs), min(cost.wall for cost in costs)) for costs in seen]


def timed_run(command: Command) -> Cost:
    """One run of the maps, as the program itself tells its times."""
    words = run([*map(str, command), "--time"]).split()
    told = dict(zip(words[::2], words[1::2], strict=True))
    return Cost(float(told["cpu"]), float(told["wall"]))


def trace_rows(checked: Path, space: Path, rounds: int, inserts: int) -> list[Row]:
    """What it takes to check an insert, with many of them in one trace and with one in each."""
    rows = []
    for name in ("hashmap-tx", "hashmap-atomic"):  # with transactions, and with questions about order
        lengths = {str(n): [checked, *insertion(name, SIZES[0], inserts), "--trace", str(n)] for n in (1000, 1)}
        costs = turns(2 * rounds, {n: partial(checking_cost, command, space) for n, command in lengths.items()})
        many, one = (1e9 * min(costs[n]) / inserts for n in ("1000", "1"))
        what = f"{name}: to check an insert, 1,000 in a trace"
        rows.append(dearer(what, many, "ns", "1 in a trace", one, times=NOISE))
    return rows


def checking_cost(command: Command, space: Path) -> float:
    """CPU seconds of the worker."""
    return check(command, space).outcome.checking_ns / 1e9


def memory_rows(checked: Path, space: Path, inserts: int) -> list[Row]:
    """The checker's memory for a run, and for a longer one that writes as much more memory."""
    short, long = (
        max(check([checked, *insertion(name, SIZES[0], count)], space).peak for name in MAPS) / 1e6
        for count in (inserts, LONGER * inserts)
    )
    return [dearer(f"memory of the checker, {LONGER} times the run", long, "MB", "the shorter run", short, times=NOISE)]


def check(command: Command, space: Path) -> Check:
    """One run under the checker, which is looked at while it runs: what is inherited at its start does not count."""
    out = space / "outcome.json"
    words = [str(checker()), "--out", str(out), "--", *map(str, command)]
    peak = 0
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, peak_of(process.pid))
            time.sleep(POLL)
        printed = process.stdout.read() if process.stdout else ""
    outcome = read_outcome(out)
    if process.returncode or outcome.trouble or outcome.code or outcome.signal or outcome.findings:
        raise Broken(f"{' '.join(words)}: it failed, or something was found")
    return Check(printed, outcome, peak)


def peak_of(pid: int) -> int:
    """The most memory a process had so far, in bytes; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)

"""What it costs to watch a program: our tracer with and without stacks, strace and strace with stacks.

A cost is the time that watching adds to one unit of work (a call, a transaction, a commit): the time with many units
less that with none, watched less unwatched. So starting a tracer counts for none of them. strace -k is so slow that
it gets fewer units.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kit import HERE, Broken, Row, cheaper, compile_c, run, turns, workspace

from powercut.native_programs import call_tracer

TURNS = 5
LEAST_COST = 0.01  # microseconds; what cannot be told from nothing counts as this
PLAIN, UNWINDING = "strace -f", "strace -k -f"
COMPARISONS = (("with stacks", UNWINDING, 10.0), ("with stacks", PLAIN, 1.0), ("without stacks", PLAIN, None))


@dataclass(frozen=True, slots=True)
class Work:
    """A program that does a number of units of work.

    Attributes:
        command: the program with its arguments, for a number of units.
        count: how many units are measured; `few` is for strace -k.
    """

    name: str
    unit: str
    command: Callable[[int], list[str]]
    count: int
    few: int


@dataclass(frozen=True, slots=True)
class Watcher:
    """A way to watch a program."""

    name: str
    prefix: tuple[str, ...]
    slow: bool = False


def measure(rounds: int = TURNS, scale: float = 1.0) -> list[Row]:
    """All kinds of work under all watchers."""
    with workspace() as space:
        data, outside = space / "data", space / "outside"
        data.mkdir()
        outside.mkdir()
        work = works(data, outside, compile_c("file_calls.c", space), scale)
        watch = watchers(data, space)
        return [row for each in work for row in measure_work(each, watch, rounds)]


def works(data: Path, outside: Path, caller: Path, scale: float) -> list[Work]:
    """The kinds of work."""

    def calls(kind: str, folder: Path) -> Callable[[int], list[str]]:
        return lambda count: [str(caller), kind, str(folder / "file"), str(count)]

    def scaled(count: int) -> int:
        return max(2, int(count * scale))

    script = str(HERE / "sqlite_transactions.py")
    all_work = [
        Work("pwrite and fsync in C", "call", calls("write", data), scaled(100_000), scaled(2_000)),
        Work("pwrite outside the folder", "call", calls("write", outside), scaled(100_000), scaled(2_000)),
        Work("read and stat outside", "call", calls("read", outside), scaled(100_000), scaled(2_000)),
        Work(
            "SQLite from Python",
            "transaction",
            lambda count: [sys.executable, script, str(data), str(count)],
            scaled(500),
            scaled(20),
        ),
    ]
    if shutil.which("git") is not None:
        commits = str(HERE / "git_commits.sh")
        all_work.append(
            Work("git", "commit", lambda count: ["/bin/sh", commits, str(data), str(count)], scaled(20), scaled(2))
        )
    return all_work


def watchers(data: Path, space: Path) -> list[Watcher]:
    """The ways to watch; the first does not. Without strace, or with one that cannot unwind, there are fewer."""
    ours = (str(call_tracer()), "--output", str(space / "trace"), "--dir", str(data))
    strace = ("strace", "-f", "-o", str(space / "strace.out"))
    peers = [Watcher(PLAIN, strace), Watcher(UNWINDING, (*strace, "-k"), slow=True)]
    return [
        Watcher("native", ()),
        Watcher("with stacks", (*ours, "--")),
        Watcher("without stacks", (*ours, "--no-stacks", "--")),
        *(peer for peer in peers if _works(peer)),
    ]


def _works(peer: Watcher) -> bool:
    try:
        run([*peer.prefix, "true"])
    except (OSError, Broken):
        print(f"tracing: {peer.name} does not work here, so nothing is compared with it", file=sys.stderr)
        return False
    return True


def measure_work(work: Work, watch: list[Watcher], rounds: int) -> list[Row]:
    """One kind of work under all watchers: microseconds that each adds to a unit."""
    figures = turns(rounds, {watcher.name: _once(work, watcher) for watcher in watch if not watcher.slow})
    slow = turns(1, {watcher.name: _once(work, watcher) for watcher in watch if watcher.slow})
    best = {name: min(values) * 1e6 for name, values in {**figures, **slow}.items()}
    native = best.pop("native")
    cost = {name: max(LEAST_COST, figure - native) for name, figure in best.items()}
    unit = f"us/{work.unit}"
    rows = [
        cheaper(f"{work.name}, {ours}", cost[ours], unit, peer, cost[peer], times=times)
        for ours, peer, times in COMPARISONS
        if peer in cost
    ]
    whole = best["with stacks"]
    return [*rows, Row(f"{work.name}, in all", whole, unit, "native", native, whole / native)]


def _once(work: Work, watcher: Watcher) -> Callable[[], float]:
    """Seconds for one unit: the slope between none and many."""
    count = work.few if watcher.slow else work.count
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def seconds(units: int) -> float:
        start = time.perf_counter()
        run([*watcher.prefix, *work.command(units)], env=environment)
        return time.perf_counter() - start

    return lambda: (seconds(count) - seconds(0)) / count

"""What the benchmarks share: rows of the table, a temporary folder in memory, compiling C, timing.

Machines are noisy and differ, so every figure stands beside another one that was taken in the same run, turn by turn,
and the best of a few turns counts.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).resolve().parent
_MEMORY = Path("/dev/shm")
T = TypeVar("T")


class Broken(Exception):
    """A benchmark could not be carried out."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        name: what was measured.
        measured: the figure, in `unit`.
        against: what it is compared with, and `compared`, that figure in the same unit.
        ratio: how the two compare, as the target counts it; None where there is nothing to compare with.
        target: in words, empty where there is none.
        met: whether it was; None without a target.
    """

    name: str
    measured: float
    unit: str
    against: str = ""
    compared: float | None = None
    ratio: float | None = None
    target: str = ""
    met: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def at_least(
    name: str, measured: float, unit: str, against: str, compared: float, *, ratio: float | None = None
) -> Row:
    """A row about something of which more is better; the ratio is measured to compared."""
    value = measured / compared
    if ratio is None:
        return Row(name, measured, unit, against, compared, value)
    return Row(name, measured, unit, against, compared, value, f"ratio >= {ratio:g}", value >= ratio)


def at_most(name: str, measured: float, unit: str, limit: float) -> Row:
    """A row about something that has a limit of its own; the ratio is limit to measured."""
    return Row(name, measured, unit, "limit", limit, limit / measured, f"< {limit:g} {unit}", measured < limit)


def cheaper(name: str, cost: float, unit: str, against: str, other: float, *, times: float | None = None) -> Row:
    """A row about a cost; the ratio says how many times cheaper it is than the other."""
    value = other / cost
    if times is None:
        return Row(name, cost, unit, against, other, value)
    return Row(name, cost, unit, against, other, value, f"ratio >= {times:g}", value >= times)


def dearer(name: str, cost: float, unit: str, against: str, other: float, *, times: float | None = None) -> Row:
    """A row about a cost; the ratio says how many times that of the other it is."""
    value = cost / other
    if times is None:
        return Row(name, cost, unit, against, other, value)
    return Row(name, cost, unit, against, other, value, f"ratio <= {times:g}", value <= times)


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A temporary folder, in memory where there is some, so that no disk is measured."""
    where = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="powercut-bench-", dir=where) as folder:
        yield Path(folder).resolve()


def compile_c(source: str, into: Path, *options: str) -> Path:
    """Compile one of the helper programs, or a library."""
    program = into / Path(source).stem
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Broken("there is no C compiler")
    command = [compiler, "-O2", "-g", "-Wall", "-Wextra", *options, "-o", str(program), str(HERE / source)]
    subprocess.run(command, check=True)
    return program


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a command that must succeed; what it printed."""
    done = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace")[-2000:]
        raise Broken(f"{command[0]} ended with status {done.returncode}: {said}")
    return done.stdout.decode("utf-8", "replace")


def timed(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> float:
    """How many seconds a command takes."""
    start = time.perf_counter()
    run(command, env=env, cwd=cwd)
    return time.perf_counter() - start


def cpu_of_children(work: Callable[[], T]) -> tuple[T, float]:
    """What some work returns, and the CPU seconds that all processes it started and reaped have used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def turns(count: int, contestants: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Let contestants run turn by turn, so that a noisy moment meets them all; all figures of each."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(count):
        for name, contestant in contestants.items():
            figures[name].append(contestant())
    return figures

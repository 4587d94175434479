"""What it costs to see every store: PMDK's mapcli in the memory tracer, in plain Valgrind and alone.

CPU time of all processes, tracer included, for a number of inserts into a btree; the pool lies in memory, and libpmem
flushes cache lines as on persistent memory. Starting up is part of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from kit import HERE, Broken, Row, cpu_of_children, dearer, turns, workspace

from powercut.native_programs import call_tracer, memory_tool, why_no_memory_tool

sys.path.insert(0, str(HERE.parent / "corpus"))

import pmdk_programs

TURNS = 5
INSERTS = 300_000
MOST = 6.0  # times the CPU time of the program alone, with stacks
NATIVE, PLAIN, STACKS, NO_STACKS = "native", "valgrind --tool=none", "with stacks", "without stacks"


def measure(rounds: int = TURNS, inserts: int = INSERTS) -> list[Row]:
    """The program alone and under all watchers."""
    with workspace() as space:
        best = {name: min(values) for name, values in turns(rounds, prepared(space, inserts)).items()}
    return _rows(best, f"{inserts:,} inserts into a btree")


def prepared(space: Path, inserts: int) -> dict[str, Callable[[], float]]:
    """The program alone and under all watchers: what each run takes, in CPU seconds."""
    tool = memory_tool()
    if tool is None or not pmdk_programs.available():
        raise Broken(why_no_memory_tool() or "PMDK's examples (libpmemobj-dev) are not there")
    data, commands = space / "data", space / "commands"
    data.mkdir(parents=True)
    commands.write_text(f"n {inserts}\nq\n")
    pmdk_programs.build(space)
    tracing = [str(call_tracer()), "--output", str(space / "trace"), "--dir", str(data), "--memory-tool", str(tool)]
    prefixes = {NATIVE: [], STACKS: [*tracing, "--"], NO_STACKS: [*tracing, "--no-stacks", "--"]}
    if shutil.which("valgrind") is not None:
        prefixes[PLAIN] = ["valgrind", "-q", "--tool=none"]
    program = [str(space / "mapcli"), "btree", str(data / "pool"), "1"]
    return {name: _once([*prefix, *program], commands, data) for name, prefix in prefixes.items()}


def _rows(best: dict[str, float], what: str) -> list[Row]:
    native = best.pop(NATIVE)
    return [
        dearer(f"{what}, {name}", seconds, "CPU s", NATIVE, native, times=MOST if name == STACKS else None)
        for name, seconds in best.items()
    ]


def _once(command: list[str], commands: Path, data: Path) -> Callable[[], float]:
    """CPU seconds of one run on an empty folder."""

    def run() -> float:
        for path in data.iterdir():
            path.unlink()
        with open(commands, "rb") as text:
            environment = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}
            done = subprocess.run(command, stdin=text, capture_output=True, env=environment, check=False)
        if done.returncode != 0:
            raise Broken(f"{command[0]} ended with status {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
        return 0.0

    return lambda: cpu_of_children(run)[1]

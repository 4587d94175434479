"""Checks a second that are started once and forked, against a C loop of spawns and against a start for each state."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kit import HERE, Broken, Row, at_least, turns, workspace
from rates import SHAPES, Arena

STATES = 8000  # so that what a search costs once does not count
TURNS = 3
BUDGET = 20  # seconds
SQLITE = """\
import sqlite3, sys
base = sqlite3.connect(sys.argv[1] + "/test.db")
base.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
for number in range(30):
    base.execute("INSERT INTO t (b) VALUES (?)", (str(number) * 50,))
    base.commit()
"""
PYTHON = """\
import json, os, sys
for name in os.listdir(os.environ["POWERCUT_DIR"]):
    with open(name, "rb") as file:
        file.read(4)
"""


@dataclass(frozen=True, slots=True)
class Checked:
    """A workload, and the command of a check."""

    name: str
    workload: Sequence[str]
    check: str


def measure(rounds: int = TURNS, states: int = STATES) -> list[Row]:
    """All checks, with the default settings but for equivalence, which would leave little to judge."""
    rows: list[Row] = []
    with workspace() as space:
        arena = Arena.make(space, SHAPES[0])
        for checked in checks(space, arena):
            figures = turns(
                rounds,
                {
                    "forked": lambda checked=checked: rate(checked, arena, space, states, "--fork-checks"),
                    "started": lambda checked=checked: rate(checked, arena, space, states, "--no-fork-checks"),
                    "C loop": arena.spawn_rate,
                },
            )
            best = {name: max(found) for name, found in figures.items()}
            name = f"forked checks, {checked.name}"
            limit, times = (1.5, None) if "python" not in checked.name else (None, 10)
            rows.append(at_least(name, best["forked"], "/s", "C loop of spawns", best["C loop"], ratio=limit))
            rows.append(at_least(name, best["forked"], "/s", "started for each", best["started"], ratio=times))
    return rows


def checks(space: Path, arena: Arena) -> list[Checked]:
    """What is judged, and by what."""
    static = compiled("image_check.c", space, "-static")
    (space / "check.py").write_text(PYTHON)
    (space / "write.py").write_text(SQLITE)
    found = [
        Checked("static C", arena.workload, str(static)),
        Checked("python3 check.py", arena.workload, f"python3 {space}/check.py"),
    ]
    try:
        program = compiled("sqlite_check.c", space, "-lsqlite3")
    except Broken as why:
        print(f"SQLite: left out, {why}", file=sys.stderr)
        return found
    workload = [sys.executable, str(space / "write.py"), str(space / "base")]
    return [*found, Checked("SQLite in C", workload, str(program))]


def compiled(source: str, space: Path, *flags: str) -> Path:
    """A check as a program."""
    program = space / Path(source).stem
    command = ["gcc", "-O2", "-Wall", "-o", str(program), str(HERE / source), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"{source} does not compile: {done.stderr[-500:]}")
    return program


def rate(checked: Checked, arena: Arena, space: Path, states: int, option: str) -> float:
    """Checks a second of one run of the command, as its JSON says."""
    folder = arena.folder if "SQLite" not in checked.name else space / "base"
    folder.mkdir(exist_ok=True)
    report = space / "report.json"
    options = ["--check", checked.check, "--no-equivalence", "--no-cache", "--no-lint", option, "--dir", str(folder)]
    limits = ["--max-states", str(states), "--budget", f"{BUDGET}s", "--json", str(report)]
    command = [sys.executable, "-m", "powercut", "test", *options, *limits, "--output", str(space / "runs")]
    done = subprocess.run([*command, "--", *checked.workload], cwd=space, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise Broken(done.stderr.decode("utf-8", "replace")[-500:])
    document = json.loads(report.read_text())
    return float(document["states"]["checks"] / document["stages"]["search"])

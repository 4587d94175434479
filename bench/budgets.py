"""Does `powercut test` end when it was told to? Whole runs, up to the saved run, against their budget.

    python bench/budgets.py                  all runs, with 20 seconds each
    python bench/budgets.py git slow-check   some
    python bench/budgets.py --budget 60      with another budget

A run may take its budget and five seconds, or a tenth of it if that is more: for what is explained at the end. One that
ends before its budget has nothing left to test. Beside the seconds stand those of each stage, and the states tested.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

import known_bugs
from harness import CORPUS, check_command
from kit import Row, at_most, workspace

BUDGET = 20.0  # seconds
LEAST_MORE, MORE = 5.0, 0.1  # seconds, or a part of the budget
REAL = CORPUS / "real"

LOG = """\
import os
log = open("data/log", "ab", buffering=0)
for number in range(100000):
    log.write(b"rec %08d\\n" % number)
    if number % 1000 == 999:
        if number != 49999:
            os.fsync(log.fileno())
        print("ok", number)
"""
LOG_CHECK = """\
import os, sys
lines = [line for line in open(os.environ["POWERCUT_ACKED"]) if line.endswith("\\n")]
owed = 13 * (int(lines[-1].split()[1]) + 1) if lines else 0
held = open("log", "rb").read() if os.path.exists("log") else b""
sys.exit("lost" if b"\\0" in held[:owed] or len(held) < owed else 0)
"""
MANY = "for i in range(3000):\n    open(f'data/{i:05}', 'w').write('x' * 9000)\nprint('saved')"
SAVE = "for i in 1 2 3 4 5 6 7 8 9; do echo $i > data/f$i.tmp; mv data/f$i.tmp data/f$i; echo $i; done"
SLOW_CHECK = 'sleep {seconds}; while read i; do [ -s f$i ] || { echo "$i is lost"; exit 1; }; done < "$POWERCUT_ACKED"'
HANGING = 'while read i; do [ -s f$i ] || sleep 60; done < "$POWERCUT_ACKED"'


@dataclass(frozen=True, slots=True)
class Case:
    """A run: where, what, how it is judged, and with which options."""

    here: Path
    program: Sequence[str]
    check: str | None
    options: Sequence[str] = ()

    def arguments(self, budget: float) -> list[str]:
        """Of powercut."""
        checks = [] if self.check is None else ["--check", self.check]
        report = ["--json", str(self.here / "report.json"), "--budget", f"{budget:g}s"]
        return ["test", "--dir", str(self.here / "data"), *checks, *report, *self.options, "--", *self.program]


def _python(here: Path, program: str, check: str | None, *options: str) -> Case:
    (here / "data").mkdir()
    (here / "check.py").write_text(check or "")
    judged = None if check is None else f"{sys.executable} -S -E {here / 'check.py'}"
    return Case(here, [sys.executable, "-c", program], judged, options)


def _shell(here: Path, check: str, *options: str) -> Case:
    (here / "data").mkdir()
    (here / "check").write_text(check)
    return Case(here, ["sh", "-c", SAVE], f"sh {here / 'check'}", options)


def _sqlite(here: Path, *options: str) -> Case:
    data = here / "data"
    data.mkdir()
    program = [sys.executable, str(REAL / "sqlite_rows.py"), str(data), "DELETE", "OFF"]
    subprocess.run([*program, "0"], check=True)
    return Case(here, program, check_command(REAL / "sqlite_check.py"), options)


def _git(here: Path, *options: str) -> Case:
    (here / "data").mkdir()
    program = [sys.executable, str(REAL / "git_commits.py"), str(here / "data")]
    return Case(here, program, check_command(REAL / "git_check.py"), options)


def _pmdk(here: Path) -> Case | None:
    known = next(known_bugs.pmdk(here), None)
    if known is None:
        return None
    return Case(known.data.parent, [*known.workload], known.check, ["--tracer", "memory"])


CASES: dict[str, Callable[[Path], Case | None]] = {
    "pmdk": _pmdk,
    "sqlite": _sqlite,
    "git": _git,
    "sqlite --fs all": lambda here: _sqlite(here, "--fs", "all"),
    "sqlite --equivalence": lambda here: _sqlite(here, "--equivalence"),
    "git --fs all --equivalence": lambda here: _git(here, "--fs", "all", "--equivalence"),
    "100,000 events": lambda here: _python(here, LOG, LOG_CHECK),
    "3,000 files, built-in check, --fs all": lambda here: _python(here, MANY, None, "--fs", "all"),
    "slow check": lambda here: _shell(here, SLOW_CHECK.replace("{seconds}", "1.5"), "--no-equivalence"),
    "hanging check": lambda here: _shell(here, HANGING),
}


def measure(names: Sequence[str] = tuple(CASES), budget: float = BUDGET) -> list[Row]:
    """Each run once; what is missing on this machine is left out."""
    return list(_rows(names, budget))


def _rows(names: Sequence[str], budget: float) -> Iterator[Row]:
    for name in names:
        with workspace() as here:
            case = CASES[name](here)
            if case is None:
                continue
            started = time.monotonic()
            command = [sys.executable, "-m", "powercut", *case.arguments(budget)]
            done = subprocess.run(command, cwd=case.here, capture_output=True, text=True, check=False)
            seconds = time.monotonic() - started
            if not (case.here / "report.json").exists():
                print(f"{shlex.join(command)}\n{done.stdout}{done.stderr}", file=sys.stderr)
            report = json.loads((case.here / "report.json").read_text())
            stages = ", ".join(f"{stage} {took:.1f}" for stage, took in report["stages"].items())
            label = f"{name}: {report['states']['tested']} tested ({stages})"
            yield at_most(label, seconds, "s", budget + max(LEAST_MORE, MORE * budget))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="some runs: " + "; ".join(CASES))
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS")
    options = parser.parse_args()
    for row in _rows(options.names or tuple(CASES), options.budget):
        print(f"{'ok  ' if row.met else 'LATE'} {row.measured:7.1f} s of {options.budget:g}  {row.name}", flush=True)


if __name__ == "__main__":
    main()

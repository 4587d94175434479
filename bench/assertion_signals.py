"""Signal handlers that record, for minutes: no hang, and every count right.

    python bench/assertion_signals.py [--seconds N] [--threads N] [--microseconds N]

Each thread of tests/assertion_programs/signals.c has a timer of its own, and makes one mistake in every eighth handler
and round. It knows how many, and so must powercut. A timer's signals become one while its thread waits for a processor:
so one timer of 100 us gives fewer than 10,000 a second on a busy machine, also without powercut; several give more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from kit import HERE, workspace

from powercut.assertions.build import compiler_flags, linker_flags

POWERCUT = Path(sys.executable).with_name("powercut")
SOURCE = HERE.parent / "tests" / "assertion_programs" / "signals.c"


def main(seconds: float, threads: int, microseconds: int) -> int:
    """1: a count was wrong."""
    with workspace() as space:
        program, report = space / "signals", space / "report.json"
        flags = ["-g", "-O2", *compiler_flags()]
        subprocess.run(["gcc", *flags, str(SOURCE), "-o", str(program), *linker_flags()], check=True)
        words = [str(program), "threads", str(threads), str(microseconds), str(seconds)]
        command = [str(POWERCUT), "check", "--json", str(report), "--", *words]
        ended = subprocess.run(
            command, cwd=space, capture_output=True, text=True, timeout=10 * seconds + 60, check=False
        )
        handled, mistakes, of_rounds, took, cpu = map(float, ended.stdout.splitlines()[0].split())
        findings = json.loads(report.read_text())["findings"]
    told = {finding["locations"][0]["function"]: finding["count"] for finding in findings}
    good = told == {"on_signal": mistakes, "rounds": of_rounds}
    print(f"{took:.0f} s: {handled:.0f} signals, {handled / took:.0f}/s by the clock, {handled / cpu:.0f}/s of CPU")
    print(f"mistakes: {mistakes:.0f} and {of_rounds:.0f}; told: {told}: {'right' if good else 'WRONG'}")
    return int(not good)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--microseconds", type=int, default=50)
    asked = parser.parse_args()
    sys.exit(main(asked.seconds, asked.threads, asked.microseconds))

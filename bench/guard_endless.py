"""Whether the log of a service that writes without a pause stays below twice its bound.

    python bench/guard_endless.py [--seconds N] [--pages N] [--disk FOLDER]

tests/guard_programs/pages.c writes small places in its pages as fast as it can. The log is looked at twenty times a
second. Prints the most that was written beyond what was reclaimed, as a multiple of the bound (64 MiB, or what is
kept), the largest log, and how fast the service wrote.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from guard_signals import FOREVER, POWERCUT, compile_pages
from kit import workspace

from powercut.errors import UsageError
from powercut.guard.log import last_segment
from powercut.guard.reclaim import load_of
from powercut.guard.shrinking import TWICE

LOOK = 0.05  # seconds
MIB = 1 << 20


def watch(log: Path, process: subprocess.Popen[bytes], seconds: float) -> tuple[float, int]:
    """The most of what was not reclaimed, in bounds, and the largest log, while a service runs."""
    most, largest, end = 0.0, 0, time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            load = load_of(log)
        except (OSError, UsageError):  # not there yet
            continue
        finally:
            time.sleep(LOOK)
        most = max(most, load.fresh / load.bound)
        largest = max(largest, load.fresh + load.compacted)
    return most, largest


def main(seconds: float, pages: int, disk: Path | None) -> int:
    """1: the log became larger than it may, or the service ended."""
    os.environ["PMEM_IS_PMEM_FORCE"] = "1"
    with workspace() as memory, tempfile.TemporaryDirectory(dir=disk or memory) as name:
        folder = Path(name)
        service = [str(compile_pages(memory)), str(folder / "pool"), str(pages), FOREVER]
        process = subprocess.Popen([str(POWERCUT), "guard", "--log", str(folder / "log"), "--", *service])
        try:
            most, largest = watch(folder / "log", process, seconds)
            went_on = process.poll() is None
            rate = last_segment(folder / "log") * 8 / seconds
        finally:
            process.terminate()
            process.wait()
    print(
        f"{seconds:g} s, {pages} pages: at most {most:.2f} times the bound, {largest / MIB:.0f} MiB; {rate:.0f} MiB/s"
    )
    return int(most > TWICE or not went_on)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--pages", type=int, default=8)
    parser.add_argument("--disk", type=Path)
    asked = parser.parse_args()
    sys.exit(main(asked.seconds, asked.pages, asked.disk))

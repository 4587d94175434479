"""Run under callgrind by counted.py: judges states of recorded traces with a function that does nothing.

    python counted_judging.py MARK_LIBRARY SPACE FEW MANY TRACE...

Before each judging and after it the library marks what was counted; `STEM FEW` and `STEM MANY` name the second mark, by
the trace's stem. One worker, so that nothing depends on who is faster; it ends when its socket closes, since a process
that is killed tells no counts. The clock goes on by a tick whenever it is read: what is decided by time (how much goes
into a batch, whether watching pays) is then decided alike in every run.
"""

from __future__ import annotations

import ctypes
import itertools
import shutil
import socket
import sys
import time
from pathlib import Path

from powercut.search.worker_process import WorkerProcess
from powercut.settings import load_settings
from powercut.testing.session import Session
from powercut.trace.reader import Trace

TICK = 20e-6  # seconds
BUDGET = "1000s"


def main(library: str, space: str, few: str, many: str, *traces: str) -> None:
    """Judge."""
    clock = itertools.count()
    time.monotonic = time.perf_counter = lambda: next(clock) * TICK
    mark = ctypes.CDLL(library).mark
    WorkerProcess.kill = _hang_up  # type: ignore[method-assign]
    runs = Path(space) / "runs"
    _judge(Path(traces[0]), 1, runs / "first")  # loads what is loaded late
    for trace in map(Path, traces):
        for states in (few, many):
            mark(b"before")
            _judge(trace, int(states), runs / f"{trace.stem}-{states}")
            mark(f"{trace.stem} {states}".encode())


def _judge(recorded: Path, states: int, run_folder: Path) -> None:
    run_folder.mkdir(parents=True)
    trace = Trace.open(Path(shutil.copy(recorded, run_folder / "trace")))
    cwd, runs = Path.cwd(), str(run_folder.parent)
    given = {"dir": str(trace.folder), "max_states": states, "budget": BUDGET, "output": runs, "workers": 1}
    session = Session(load_settings(cwd, {**given, "cache": False, "lint": False}), cwd, lambda event: None)
    session.check = lambda path: None
    tested = session.explore(trace, run_folder)[0].states["tested"]
    if tested != states:
        raise SystemExit(f"{tested} states were judged instead of {states}")


def _hang_up(worker: WorkerProcess) -> None:
    worker.socket.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(*sys.argv[1:])

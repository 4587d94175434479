"""Which runtimes of a recording were followed, and which were not, though they should have been.

Before: a trace, recorded with agents in the environment. After: a sentence for each kind of runtime whose processes
changed something while no agent told its lines; such a recording is good, its findings name native frames.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import numpy as np

from powercut.runtimes.known import RUNTIMES
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

_CHANGES = (int(Kind.CREATE), int(Kind.OUTPUT))  # from the first to the last kind of what a program does


def not_followed(trace: Trace) -> Iterator[str]:
    """What is missing, once for each runtime."""
    known = {int(key.partition(".")[2]) for key in trace.meta if key.startswith("runtime.")}
    changing = _changing(trace)
    for runtime in RUNTIMES:
        if runtime.programs is None:
            continue
        for event in trace.events[trace.of_kind(Kind.EXEC)]:
            process = int(event["pid"])
            program = posixpath.basename(trace.string(int(event["path"])).decode("utf-8", "replace"))
            if process in changing and process not in known and runtime.programs.fullmatch(program):
                yield (
                    f"{runtime.title} (process {process}) did not load powercut's agent, so findings name native "
                    f"functions instead of lines"
                )
                break


def _changing(trace: Trace) -> set[int]:
    events = trace.events
    kinds = events["kind"]
    return set(np.unique(events["pid"][(kinds >= _CHANGES[0]) & (kinds <= _CHANGES[1])]).tolist())

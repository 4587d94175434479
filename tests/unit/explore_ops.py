"""Explores short runs given as operations (see tests/models/brute_force.py), with a check on plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from powercut.findings.finding import Finding
from powercut.image.state_image import StateImage
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.budget import Budget
from powercut.search.events import Counts
from powercut.search.exploration import Exploration
from powercut.search.inline_executor import InlineExecutor
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.layout import FRAME, Kind, TableKind
from powercut.trace.writer import TraceWriter
from tests.models.brute_force import World
from tests.models.random_runs import _event, to_trace

Check = Callable[[dict[str, bytes], bytes], bool]


class ImageCheck:
    """An oracle that reads the files of an image into a dictionary."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self.judged = 0

    def judge(self, timeline: Timeline, state: State, output_until: int | None = None) -> Verdict:
        self.judged += 1
        acked = timeline.acked(state.point if output_until is None else output_until)
        return Verdict(Outcome.PASS if self._check(files(timeline, state), acked) else Outcome.FAIL, 1)


def files(timeline: Timeline, state: State) -> dict[str, bytes]:
    """Path -> content of every file of an image."""
    image, found = StateImage(timeline, state), {}

    def walk(folder: int, prefix: str) -> None:
        for name, obj in image.entries(folder).items():
            if image.kind(obj) is ObjectKind.FOLDER:
                walk(obj, f"{prefix}{name.decode()}/")
            else:
                found[prefix + name.decode()] = image.read(obj, 0, 1 << 20)

    walk(0, "")
    return found


class _OneCall(TraceWriter):
    """Gives some operations the same call stack, and the others none."""

    def __init__(self, ops: list[tuple], alike: Sequence[int]) -> None:
        super().__init__()
        self.entry(TableKind.MODULE, b"/bin/program\0")
        self._stack = self.entry(TableKind.STACK, np.array([(1, 1, 1)], FRAME).tobytes())
        self._now = False
        self.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
        world = World()
        for number, op in enumerate(ops):
            self._now = number in alike
            _event(self, world, op)

    def event(self, kind: Kind, **fields: Any) -> int:
        return super().event(kind, **fields, **({"stack": self._stack} if self._now else {}))


def explore(
    ops: list[tuple], check: Check, *fs: str, alike: Sequence[int] = (), **budget: Any
) -> tuple[list[Finding], Counts]:
    """Findings and counts of a run under some models; `alike`: operations that one call made, by number."""
    trace = _OneCall(ops, alike).trace() if alike else to_trace(ops)
    timelines = [Timeline(trace, FILE_SYSTEMS[name]) for name in fs]
    executor = InlineExecutor(timelines, ImageCheck(check))
    exploration = Exploration(
        timelines,
        executor,
        lambda timeline, point, unsaid: timeline.acked(point, unsaid),
        Budget(**budget),
        0,
        lambda event: None,
    )
    exploration.run()
    return exploration.findings, exploration.counts

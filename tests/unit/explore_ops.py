"""Explores short runs given as operations (see tests/models/brute_force.py), with a check on plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from tests.models.random_runs import to_trace

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


def explore(ops: list[tuple], check: Check, *fs: str, **budget: Any) -> tuple[list[Finding], Counts]:
    """Findings and counts of a run under some models."""
    trace = to_trace(ops)
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

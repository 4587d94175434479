"""Replay: the image of a saved finding, built again, and the oracle's word on it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from powercut import _engine
from powercut.errors import UsageError
from powercut.image.folder import ImageFolder
from powercut.image.scratch import ScratchPolicy
from powercut.oracle.builtin import BuiltinOracle
from powercut.oracle.command import CommandOracle
from powercut.oracle.verdict import Verdict
from powercut.report.difference import timeline_of
from powercut.run.executor import LocalExecutor
from powercut.run.jobs import Job, Result
from powercut.run.store import find_finding
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace


def replay(output: Path, name: str, keep: Path | None, check: str | None) -> Verdict:
    """Build the image of a finding and have it judged; `keep` names a new folder that shall hold the image."""
    folder, run, finding = find_finding(output, name)
    trace = Trace.open(folder / "trace")
    timeline = timeline_of(trace, finding.state)
    state = finding.state.state()
    if keep is not None:
        export_image(timeline, state, keep)
    argv = shlex.split(check) if check else run.check
    if argv is None:
        return BuiltinOracle(timeline).judge(timeline, state)
    return _judge(timeline, state, CommandOracle(argv, run.timeout), Path(run.folder), run.timeout)


def _judge(timeline: Timeline, state: State, oracle: CommandOracle, folder: Path, timeout: float) -> Verdict:
    namespaces = _engine.can_enter_view()[0] and folder.is_dir()
    executor = LocalExecutor([timeline], oracle, folder, 1, timeout, ScratchPolicy(), namespaces)
    try:
        executor.submit([Job(0, 0, state)])
        results: list[Result] = []
        while not results:
            results = executor.results(None)
        return results[0].verdict
    finally:
        executor.close()


def export_image(timeline: Timeline, state: State, target: Path) -> None:
    """Write an image to a folder that does not exist yet."""
    if target.exists():
        raise UsageError("image-exists", f"{target} exists.", "Name a folder that does not.")
    target.mkdir(parents=True)
    store = target.with_name(f".{target.name}.{os.getpid()}.store")
    store.mkdir()
    image = ImageFolder(target, store, timeline)
    try:
        image.move_to(state)
    finally:
        image.close()
        for left in store.iterdir():
            left.unlink()
        store.rmdir()

"""Replay: the image of a saved finding, built again, and the oracle's word on it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePath

from powercut import _engine
from powercut.errors import EnvironmentFailure, UsageError
from powercut.findings.finding import Doubt, Finding, SavedState
from powercut.findings.saved_timeline import timeline_of
from powercut.image.folder import ImageFolder
from powercut.image.scratch import ScratchPolicy
from powercut.image.snapshot_copy import copy_untouched
from powercut.image.state_image import StateImages, TouchedBelow
from powercut.image.trash import empty_folder
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.builtin import BuiltinOracle
from powercut.oracle.callable import CallableOracle
from powercut.oracle.check_command import check_command, check_environment
from powercut.oracle.command import CommandOracle
from powercut.oracle.protocol import Oracle
from powercut.oracle.verdict import Verdict
from powercut.runs.store import find_replayable
from powercut.runs.workspace import changes_below
from powercut.search.events import Said, Subscriber
from powercut.search.jobs import Job, Result
from powercut.search.judging import Check
from powercut.search.local_executor import LocalExecutor
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace


def replay(output: Path, name: str, keep: Path | None, check: str | Check | None, tell: Subscriber) -> Verdict:
    """Build the image of a finding and have it judged; `keep` names a new folder that shall hold the image.

    `check` is another check than that of the run, or the Python function that it had.
    """
    folder, run, finding = find_replayable(output, name)
    argv = check_command(check, Path.cwd(), Path(run.folder)) if isinstance(check, str) else run.check
    if argv is None and run.race:  # a plain crash bug that a search for races has met
        argv = [str(word) for word in run.race.get("recovery", ())] or None
    if argv is None and run.function is not None and not callable(check):
        raise UsageError(
            "python-check",
            f"the check was the Python function {run.function}, which cannot be called from here.",
            "Give a command with --check, or look at the image with --image DIR.",
        )
    timeline, state = rebuild(folder, finding)
    if words := changes_below(timeline.trace):
        tell(Said(words, True))
    if keep is not None:
        export_image(timeline, state, keep)
    oracle: Oracle
    if callable(check):
        oracle = CallableOracle(check)
    elif argv is not None:
        oracle = CommandOracle(argv, run.timeout, check_environment(timeline))
    else:
        return BuiltinOracle(timeline).judge(timeline, state)
    return judge_state(timeline, state, oracle, Path(run.folder), run.timeout, tell)


def rebuild(folder: Path, finding: Finding | Doubt) -> tuple[Timeline, State]:
    """The timeline and the state of a saved finding."""
    timeline = rebuild_timeline(folder, finding.state)
    return timeline, rebuild_state(folder, timeline, finding)


def rebuild_timeline(folder: Path, saved: SavedState) -> Timeline:
    """The timeline of saved states with the same model; what was saved is not trusted."""
    if saved.model not in FILE_SYSTEMS:
        raise UsageError("broken-run", f"{folder} was made with the unknown model {saved.model!r}.")
    path = PurePath(saved.trace)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError("broken-run", f"{folder} has a finding whose trace is outside the folder: {saved.trace!r}.")
    return timeline_of(Trace.open(folder / path), saved)


def rebuild_state(folder: Path, timeline: Timeline, finding: Finding | Doubt) -> State:
    """The state of a saved finding, which need not fit the trace beside it."""
    try:
        state = finding.state.state()
    except ValueError as error:
        raise UsageError("broken-run", f"{folder / 'run.json'} contains an impossible state: {error}.") from error
    known = all(0 <= update < len(timeline.updates) for update in state.delta)
    if not known or state.point > timeline.end or not timeline.is_possible(state):
        raise UsageError("broken-run", f"finding {finding.id} does not fit the trace in {folder}.", "Run it again.")
    return state


def judge_state(
    timeline: Timeline, state: State, oracle: Oracle, folder: Path, timeout: float, tell: Subscriber
) -> Verdict:
    """Have one state judged."""
    namespaces, why = _engine.can_enter_view()
    if not folder.is_dir():
        namespaces, why = False, f"{folder} does not exist any more"
    if not namespaces:
        tell(
            Said(f"the check sees the image at another path ({why}); powercut replaces the path in its arguments", True)
        )
    executor = LocalExecutor([StateImages(timeline)], oracle, folder, 1, timeout, ScratchPolicy(), namespaces)
    try:
        executor.submit([Job(0, 0, state)])
        results: list[Result] = []
        while not results:
            results = executor.results(None)
        return results[0].verdict
    finally:
        executor.close()


def export_image(timeline: Timeline, state: State, target: Path) -> None:
    """Write an image to a folder that does not exist yet; if that fails, there is none."""
    if os.path.lexists(target):
        raise UsageError("image-exists", f"{target} exists.", "Choose a folder that does not exist.")
    store = target.absolute().with_name(f".{target.name}.{os.getpid()}.store")
    try:
        target.mkdir(parents=True)
        store.mkdir()
        image = ImageFolder(target, store, StateImages(timeline))
        try:
            image.move_to(state)
        finally:
            image.close()
        if timeline.trace.rest is not None and Path(timeline.trace.folder).is_dir():
            copy_untouched(Path(timeline.trace.folder), target, TouchedBelow(timeline))
    except BaseException as error:
        _remove(target)
        if isinstance(error, OSError):
            why = f"cannot write the image to {target}: {error.strerror}."
            raise EnvironmentFailure("image-unwritable", why, "Choose another folder.") from error
        raise
    finally:
        _remove(store)


def _remove(folder: Path) -> None:
    """Remove a folder that we made, and all that we put into it."""
    if folder.is_dir():
        path = os.fsencode(folder)
        empty_folder(path, path)
        shutil.rmtree(folder)

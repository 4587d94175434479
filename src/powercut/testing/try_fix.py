"""Trying a fix for real: the program runs again, with the sync that a finding asks for put in by the tracer.

Before: a saved run with a finding whose fix is a sync. After: a run of its own, in the folder of the first one, that
was searched with the same check, rows and budget; the first run knows what became of its finding. The program is not
changed, and its data folder is as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from powercut.errors import EnvironmentFailure, UsageError
from powercut.findings.finding import Finding, Tried, TriedOutcome
from powercut.findings.shown_again import shown_again
from powercut.oracle.check_command import check_command
from powercut.printable import counted
from powercut.quick_dataclass import dataclass
from powercut.record.added_syncs import put_in, write_plan
from powercut.record.workload import Workload
from powercut.runs.run_plan import load_plan
from powercut.runs.store import PLAN, SavedRun, covered, find_finding, load_run, name_of, new_trial_folder, save_run
from powercut.search.events import Event, Said, Subscriber
from powercut.search.judging import Check
from powercut.search.ray_executor import require_ray
from powercut.settings import Settings, check_settings, seconds
from powercut.testing.session import Session
from powercut.trace.reader import Trace

ADDED = "added"  # the plan of syncs, beside the trace


@dataclass(frozen=True, slots=True)
class Trial:
    """How a fix did.

    Attributes:
        finding: the finding whose fix was tried.
        tried: what became of it, as it is kept with its run.
        run: the run with the fix put in, with its findings, and the folder of that run.
        seen: the one of them that shows the finding again; None if it is gone, or was not seen.
    """

    finding: Finding
    tried: Tried
    run: SavedRun
    folder: Path
    seen: Finding | None

    @property
    def gone(self) -> bool:
        """Whether the fix helps."""
        return self.tried.outcome is TriedOutcome.GONE

    @property
    def findings(self) -> list[Finding]:
        """What is found with the fix put in, besides the finding itself."""
        return [finding for finding in self.run.findings if finding is not self.seen]


def _ignore(event: Event) -> None:
    """Nobody listens."""


def try_fix(
    output: Path,
    name: str,
    tell: Subscriber = _ignore,
    changes: Mapping[str, object] | None = None,
    *,
    workload: Workload | None = None,
    check: Check | None = None,
) -> Trial:
    """Run the program of a saved run again, with the fix of a finding put in, and search as that run did.

    Args:
        output: where runs are saved.
        name: the finding, as ID or RUN/ID.
        tell: is told what is done and found.
        changes: settings that shall differ from those of the run.
        workload: the Python function that was recorded, where it was one.
        check: the Python function that judged, where it was one.
    """
    folder, first, finding = find_finding(output, name)
    syncs = finding.fix.syncs if finding.fix is not None else ()
    if not syncs:
        raise UsageError("no-sync-to-try", f"the fix of {finding.id} cannot be tried: {_why_not(finding)}.")
    before = Trace.open(folder / finding.state.trace)
    session = _session(folder, before, tell, dict(changes or {}), check)
    workload = workload or _command(before)
    trial = new_trial_folder(folder, finding.id)
    try:
        write_plan(trial / ADDED, before, syncs)
        trace = session.record(workload, trial / "trace", cwd=_cwd(before), added=trial / ADDED)
        count = put_in(trace)
        if not count:
            what = "the program ran again but did not reach the calls named in the fix; no sync was added."
            raise EnvironmentFailure("fix-not-reached", what, "Was it rebuilt, or is its input different?")
        tell(Said(f"added {counted(count, 'sync')}"))
        run, _ = session.explore(trace, trial)
    except BaseException:
        _abandon(trial)
        raise
    others = {other.id for other in first.findings} - {finding.id}
    seen = shown_again(finding, others, run.findings)
    ended = _ended_by_itself(run, session.settings)
    tried = Tried(
        _outcome(finding, run, seen, ended=ended),
        count,
        covered(run.states),
        tuple(other.id for other in run.findings),
        seen.id if seen is not None else None,
        name_of(trial),
    )
    _keep(folder, finding.id, tried)
    return Trial(finding, tried, run, trial, seen)


def _why_not(finding: Finding) -> str:
    """Why the tracer cannot do what a fix says."""
    if finding.race is not None:
        return "a race depends on the order of threads, which a sync does not change"
    if finding.fix is None:
        return "powercut knows no sync that helps"
    if finding.fix.by == "check":
        return "it changes the order of calls; only you can do that in the program"
    return "the fix is general advice, not a sync"


def _session(folder: Path, trace: Trace, tell: Subscriber, changes: dict[str, object], check: Check | None) -> Session:
    """A session with the settings of the run, as far as nothing else is said."""
    if not (folder / PLAN).is_file():
        why = "it was made by an older powercut, or by powercut race"
        raise UsageError("not-resumable", f"run {folder.name} cannot be repeated: {why}.", "Run it again.")
    plan = load_plan(folder)
    if plan.function is not None and check is None and "check" not in changes:
        raise UsageError(
            "python-check",
            f"the check was the Python function {plan.function}, which cannot be called from here.",
            "Give a command with --check, or call powercut.testing.try_fix.try_fix with that function.",
        )
    base = folder.resolve().parent.parent
    same = (Path(plan.cwd) / plan.settings.output).resolve() == base
    fixed: dict[str, object] = {"dir": trace.folder, "stacks": True}
    fixed |= {} if same else {"output": str(base)}
    fixed |= {"tracer": "memory"} if trace.sees_memory else {}
    settings = msgspec.structs.replace(plan.settings, **{**fixed, **changes})
    check_settings(settings, "bad-setting", "")
    session = Session(settings, Path(plan.cwd), tell, check, trying=True)
    if settings.check is not None and check is None:
        check_command(settings.check, session.cwd, session.folder)  # what cannot run is refused before the program has
    if settings.executor == "ray":
        require_ray()
    return session


def _command(trace: Trace) -> list[str]:
    if not trace.command:
        raise UsageError(
            "python-workload",
            "the program was a Python function, which cannot be called from here.",
            "Call powercut.testing.try_fix.try_fix with that function.",
        )
    return [_at_home(trace, argument) for argument in trace.command]


def _cwd(trace: Trace) -> Path:
    """Where the program was started."""
    return Path(_at_home(trace, trace.meta.get("cwd", b"").decode("utf-8", "surrogateescape")))


def _at_home(trace: Trace, text: str) -> str:
    """A path or an argument that leads to the data folder, and not to the copy that the program had."""
    copy = trace.meta.get("copy", b"").decode("utf-8", "surrogateescape")
    return text.replace(copy, trace.folder) if copy else text


def _ended_by_itself(run: SavedRun, settings: Settings) -> bool:
    """Whether a search came to its end before its budget did."""
    most = settings.max_states
    in_time = run.seconds < seconds(settings.budget) and (most is None or run.states["tested"] < most)
    return in_time and not run.interrupted and not run.states.get("unexplained")


def _outcome(finding: Finding, run: SavedRun, seen: Finding | None, *, ended: bool) -> TriedOutcome:
    """A finding is gone if the search came at least as far as the one that had found it."""
    if seen is not None:
        return TriedOutcome.STILL_THERE
    return TriedOutcome.GONE if ended or _came_as_far(finding, run) else TriedOutcome.NOT_SEEN


def _came_as_far(finding: Finding, run: SavedRun) -> bool:
    unknown = run.states.get("unanswered") or run.states.get("unexplained")  # each may show the finding again
    return not run.interrupted and not unknown and covered(run.states) >= max(finding.reached, 1)


def _keep(folder: Path, name: str, tried: Tried) -> None:
    """Write down what became of a finding in its own run, which may have changed meanwhile."""
    run = load_run(folder)
    for finding in run.findings:
        if finding.id == name:
            finding.tried = tried
    save_run(folder, run)


def _abandon(trial: Path) -> None:
    """Leave nothing of a trial that did not get as far as a trace; what was recorded stays to be looked at."""
    if not (trial / PLAN).exists():
        with suppress(OSError):
            for path in trial.iterdir():
                path.unlink()
            trial.rmdir()
            trial.parent.rmdir()  # only if it was the first

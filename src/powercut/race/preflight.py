"""The first run of a program: whether it can race at all, and whether its recovery and check work.

A program that maps no file, or has one thread, has no races in persistent memory. A recovery or check that refuses the
folder after a clean end would refuse everything. Each is said before the search begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from powercut.errors import EnvironmentFailure
from powercut.findings.places import Places
from powercut.oracle.verdict import Outcome
from powercut.race.campaign import Campaign, Stage
from powercut.race.recovery import Recovery
from powercut.race.scheduler import ExecutionScheduler, Task
from powercut.race.validation import Check
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

_SCOUTS = 8  # inputs that may hang, before no more are tried
_SHORTEST = 2.0  # seconds that a recovery has in any case
_SLOWER = 8  # times as long as after a clean end: then it hangs
_FRAMES = 8  # of each stack
_LINES = 20  # of what a check or a recovery said


def scout(stage: Stage, scheduler: ExecutionScheduler) -> Iterator[tuple[Task, Campaign]]:
    """The first executions, without a schedule, until one ends well; those before it hung."""
    for _ in range(_SCOUTS):
        task = scheduler.next()
        if task is None:
            return
        with stage.perform(task.state.seed, task.schedule, loads=task.is_scout) as campaign:
            if campaign.hung:
                scheduler.told(task, 0, 0, [])
            elif campaign.execution.outcome is Outcome.PASS:
                _require_threads(stage, campaign)
            else:
                raise _failed(stage, campaign)
            yield task, campaign
            if not campaign.hung:
                return


def never_ends(stage: Stage, campaign: Campaign) -> EnvironmentFailure:
    """What to say of a program that has no input, and hangs."""
    return EnvironmentFailure(
        "program-deadlocks",
        f"the program {stage.command[0]!r} does not end by itself: it {campaign.ending}, even without scheduling.",
        "It must end without a crash; increase --timeout if it is slow. Its threads:\n" + _stacks(campaign),
    )


def _require_threads(stage: Stage, campaign: Campaign) -> None:
    name = stage.command[0]
    if not campaign.maps_files:
        what = f"the program {name!r} never maps a file of {stage.options.folder} for writing."
        raise EnvironmentFailure(
            "maps-nothing", what, "powercut race looks for races in mapped files. Is --dir the folder of the pool?"
        )
    if campaign.threads < 2:
        what = f"the program {name!r} never starts a second thread, so nothing can race."
        raise EnvironmentFailure("one-thread", what, "Use powercut test for programs with one thread.")


def _failed(stage: Stage, campaign: Campaign) -> EnvironmentFailure:
    words = _said(campaign.execution.last_words())
    what = f"the program {stage.command[0]!r} {campaign.ending}."
    return EnvironmentFailure("workload-failed", what, f"It must exit with 0 when there is no power cut.{words}")


def require_clean_end(recovery: Recovery, check: Check | None, timeline: Timeline) -> float:
    """Recovery and check must accept what a clean end leaves; seconds after which the recovery hangs."""
    end = State(timeline.end, Base.ISSUED, frozenset())
    recovered = recovery.on(timeline, end)
    if not recovered.verdict.passed:
        raise EnvironmentFailure(
            "recovery-fails",
            f"the recovery fails even without a crash: {recovery.command[0]!r} {recovered.ending} on the folder the "
            "program left.",
            "Fix that first, or choose another command with --recovery." + _said(recovered.verdict.output),
        )
    if check is not None and not (verdict := check(timeline, end)).passed:
        raise EnvironmentFailure(
            "check-fails-on-final-state",
            f"the check fails even without a crash: it exited with {verdict.code} on the folder the program left.",
            "Fix that first." + _said(verdict.output),
        )
    return min(recovery.limit, max(_SHORTEST, _SLOWER * recovered.verdict.seconds))


def _stacks(campaign: Campaign) -> str:
    """Where each thread waits."""
    places, trace = Places(campaign.execution.trace), campaign.execution.trace
    parts = []
    for event in campaign.last_places():
        thread = campaign.thread_index.get(int(trace.events["tid"][event]), 0)
        parts += [f"thread {thread}:", *(f"  {frame}" for frame in places.frames(event)[:_FRAMES])]
    return "\n".join(parts) or "(unknown)"


def _said(words: str) -> str:
    lines = words.strip().splitlines()[-_LINES:]
    return " Its last output:\n" + "\n".join(lines) if lines else ""

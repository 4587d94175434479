"""The first executions of a program: whether it can race at all, and whether its recovery and check work.

A program that maps no file, or has one thread, has no races in persistent memory. A recovery or check that refuses the
folder after a clean end would refuse everything. Each ends the search with a reason. An execution that a signal ends,
or that hangs on its input, does not: it is a finding. If many of them came first, there is no clean end to judge by.
"""

from __future__ import annotations

from dataclasses import replace

from powercut.errors import EnvironmentFailure
from powercut.findings.places import Places
from powercut.oracle.verdict import Outcome
from powercut.quick_dataclass import dataclass
from powercut.race.campaign import Campaign, Stage
from powercut.race.recovery import Recovery
from powercut.race.validation import Validator
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

_SCOUTS = 8  # executions that may end badly before one ends well
_SHORTEST = 2.0  # seconds that a recovery has in any case
_SLOWER = 8  # times as long as after a clean end: then it hangs
_FRAMES = 8  # of each stack
_LINES = 20  # of what a check or a recovery said


@dataclass(slots=True)
class Preflight:
    """Looks at executions until one has ended well.

    Attributes:
        has_input: the program reads something, so that another input may end.
        cut_short: the first execution was ended because the budget was over.
    """

    stage: Stage
    has_input: bool
    cut_short: bool = False
    _well: bool = False
    _badly: int = 0

    @property
    def gave_up(self) -> bool:
        """Whether too many executions ended badly before one ended well."""
        return not self._well and self._badly >= _SCOUTS

    @property
    def ended_well(self) -> bool:
        """Whether an execution did."""
        return self._well

    def ended(self, campaign: Campaign, *, in_time: bool) -> bool:
        """Whether an execution ended well; `in_time`: it had as long as it may take."""
        if campaign.execution.outcome is Outcome.PASS:
            if not self._well:
                _require_threads(self.stage, campaign)
            self._well = True
            return True
        self._badly += 1
        if campaign.hung and not in_time:
            self.cut_short = not self._well
        elif campaign.hung and not self._well and not self.has_input:
            raise _never_ends(self.stage, campaign)
        elif not campaign.hung and not campaign.died and not self._well:
            raise _failed(self.stage, campaign)
        return False

    def clean_end(self, timeline: Timeline, validator: Validator) -> Recovery:
        """Recovery and check must accept what a clean end leaves; the recovery, which hangs if it takes far longer."""
        end = State(timeline.end, Base.ISSUED, frozenset())
        recovery, check = validator.recovery, validator.check
        recovered = recovery.on(timeline, end)
        if not recovered.verdict.passed:
            raise EnvironmentFailure(
                "recovery-fails",
                f"the recovery fails even without a crash: {recovery.command[0]!r} {recovered.ending} on the folder "
                "the program left.",
                "Fix that first, or choose another command with --recovery." + _said(recovered.verdict.output),
            )
        if check is not None and not (verdict := check(timeline, end)).passed:
            raise EnvironmentFailure(
                "check-fails-on-final-state",
                f"the check fails even without a crash: it exited with {verdict.code} on the folder the program left.",
                "Fix that first." + _said(verdict.output),
            )
        limit = min(recovery.limit, max(_SHORTEST, _SLOWER * recovered.verdict.seconds))
        return replace(recovery, limit=limit, patience=recovery.limit)


def _never_ends(stage: Stage, campaign: Campaign) -> EnvironmentFailure:
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

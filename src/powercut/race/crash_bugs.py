"""Plain crash bugs that a search for races comes upon: a recovery or a check fails where no race is to blame.

Before: a crash state that fails, and that fails without the race beside which it was met. After: what `powercut test`
would say of it: its kind, its lines, its smallest state. The same diagnosis is asked, with the same oracle, run outside
of the tracer. What was explained once is not explained again: not in other words of the same recovery, either, as long
as no new finding comes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import field

from powercut.findings.diagnose import Diagnosis
from powercut.findings.explaining_time import ExplainingTime, Over
from powercut.findings.finding import Finding
from powercut.findings.places import Places
from powercut.findings.questions import Question
from powercut.oracle.verdict import Verdict
from powercut.quick_dataclass import dataclass
from powercut.race.clock import Clock
from powercut.race.image_judge import ImageJudge
from powercut.race.validation import PlainFailure
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.symbols import Symbolizer

_TIMES = 3  # that a failure in the same words is explained: another line may lead to them


@dataclass(slots=True)
class CrashBugs:
    """Explains plain failures.

    Attributes:
        recovery, check: who refuses images; None if there is no check.
    """

    recovery: ImageJudge
    check: ImageJudge | None
    clock: Clock
    _symbols: Symbolizer = field(default_factory=Symbolizer)
    _explained: Counter[Hashable] = field(default_factory=Counter)

    def is_new(self, failure: PlainFailure) -> bool:
        """Whether it is worth explaining; asked once for each."""
        self._explained[_words(failure)] += 1
        return self._explained[_words(failure)] <= _TIMES

    def explain(self, timeline: Timeline, failure: PlainFailure) -> list[Finding]:
        """What is wrong, as findings; none if there was no time for it, or it does not fail outside of the tracer."""
        judge = self.recovery if failure.by_recovery or self.check is None else self.check
        question = Question(failure.state)
        (verdict,) = judge.verdicts(timeline, [question])
        if verdict is None or verdict.passed:
            return []

        def answers(number: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
            judge.workbench.release()  # as long as the oracle is at work
            try:
                return judge.verdicts(timeline, questions, over)
            finally:
                judge.workbench.acquire()

        with judge.workbench:
            places = Places(timeline.trace, self._symbols)
            diagnosis = Diagnosis([timeline], places, answers, _nowhere, ExplainingTime(lambda: self.clock.left))
            diagnosis.explain(0, failure.state, verdict)
        for finding in diagnosis.findings if failure.by_recovery else ():
            finding.message = finding.message.replace("the check", "the recovery")
        return diagnosis.findings


def _nowhere(number: int, state: State) -> tuple[str, ...]:
    """Where a recovery dies is not asked for."""
    return ()


def _words(failure: PlainFailure) -> Hashable:
    said = failure.verdict
    return failure.by_recovery, said.outcome, said.code, said.output

"""Questions to the oracle, for as long as there is time.

Before: states of some timelines. After: the oracle's word on each of them, or `OutOfTime`: there is no third answer, so
that nothing is ever concluded from a question that was not answered. A state may be asked about as if the program had
said less by then than it had: `output_until` is the time up to which its output counts, `unsaid` what of it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from powercut.findings.explaining_time import ExplainingTime, Over
from powercut.oracle.verdict import Verdict
from powercut.states.state import State


class Question(NamedTuple):
    """A state, the time up to which output counts (None: the crash), and the events whose output does not."""

    state: State
    output_until: int | None = None
    unsaid: frozenset[int] = frozenset()

    @property
    def output_ends(self) -> int:
        """The time up to which the program's output counts."""
        return self.state.point if self.output_until is None else self.output_until


# Judge states of a timeline until it is over; None: nobody knows.
Judge = Callable[[int, Sequence[Question], Over], list[Verdict | None]]


class OutOfTime(Exception):
    """The time for a failing state is over: what is known must do."""


class Oracle:
    """The oracle, as far as time allows.

    Attributes:
        knows_output: whether it knows what the program said. The built-in one does not.
    """

    def __init__(self, judge: Judge, explaining_time: ExplainingTime, *, knows_output: bool = True) -> None:
        self.knows_output = knows_output
        self._judge = judge
        self._explaining_time = explaining_time

    def look_at_the_clock(self) -> None:
        """Stop here if the time is over."""
        if self._explaining_time.is_over():
            raise OutOfTime

    def verdicts(self, number: int, questions: Sequence[Question]) -> list[Verdict]:
        """What the oracle says of some states of a timeline."""
        answers = self._judge(number, questions, self._explaining_time.is_over)
        known = [verdict for verdict in answers if verdict is not None]
        if len(known) < len(questions):
            raise OutOfTime
        return known

    def verdict(self, number: int, question: Question) -> Verdict:
        """What it says of one."""
        return self.verdicts(number, [question])[0]

    def passes(self, number: int, question: Question) -> bool:
        """Whether it accepts a state."""
        return self.verdict(number, question).passed

    def fails(self, number: int, questions: Sequence[Question]) -> list[bool]:
        """Which of some states it refuses."""
        return [not verdict.passed for verdict in self.verdicts(number, questions)]


class Mending(Oracle):
    """The oracle's word on states as they were without the known causes: what is left is another one's."""

    def __init__(self, oracle: Oracle, mend: Callable[[int, Question], Question]) -> None:
        super().__init__(oracle._judge, oracle._explaining_time, knows_output=oracle.knows_output)
        self._mend = mend

    def verdicts(self, number: int, questions: Sequence[Question]) -> list[Verdict]:
        """What the oracle says of some states of a timeline, known causes taken out of them."""
        return super().verdicts(number, [self._mend(number, question) for question in questions])

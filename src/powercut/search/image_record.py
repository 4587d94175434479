"""One image of a search: what is known of it, how that came to be known, and which states wait for it.

Before: a key, which stands for what an image holds and for what the program had said. After: one record for it, whose
state only these methods change. A verdict counts as seen if the oracle gave it, in this run or in an earlier one; what
equivalence predicts is kept apart from it, and never explained before it was seen.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from powercut.findings.questions import Question
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.verdict_cache import Key


class Taken(NamedTuple):
    """A state that was taken from the strategies: when, on which row, and which, with the output that it owes."""

    turn: int
    number: int
    question: Question


class Stage(Enum):
    """How far an image is."""

    UNTESTED = auto()
    PREDICTED = auto()  # by equivalence
    RECALLED = auto()  # an earlier run judged it; that answered a question, no state that was taken
    CACHED = auto()  # an earlier run judged it
    RUNNING = auto()  # it is being judged
    JUDGED = auto()


class ImageRecord:
    """One image.

    Attributes:
        verdict: what the oracle said; None if it said nothing yet.
        predicted: what equivalence says; None if it said nothing.
        first: what the oracle did when it died or hung, and was asked again.
        waiting: states that were taken and whose image is being judged, in order.
    """

    __slots__ = ("first", "key", "predicted", "stage", "verdict", "waiting")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.stage = Stage.UNTESTED
        self.verdict: Verdict | None = None
        self.predicted: Verdict | None = None
        self.first: Verdict | None = None
        self.waiting: list[Taken] | None = None

    @property
    def known(self) -> Verdict | None:
        """What is known, seen or predicted, for a state that is taken. What only answered a question is met anew."""
        return None if self.stage is Stage.RECALLED else self.verdict or self.predicted

    @property
    def is_running(self) -> bool:
        """Whether it is being judged."""
        return self.stage is Stage.RUNNING

    def run(self, *waiting: Taken) -> None:
        """It is being judged from now on, for some states or for a question."""
        self.stage = Stage.RUNNING
        self.waiting = list(waiting)

    def wait(self, taken: Taken) -> None:
        """Another state waits for the verdict."""
        assert self.waiting is not None, "it is being judged"
        self.waiting.append(taken)

    def recall(self, verdict: Verdict, stage: Stage) -> None:
        """An earlier run judged it."""
        self.stage = stage
        self.verdict = verdict
        if verdict.outcome is Outcome.HANG:
            self.first = verdict  # it was confirmed then

    def judge(self, verdict: Verdict) -> list[Taken]:
        """The oracle judged it; the states that waited."""
        waiting, self.waiting = self.waiting, None
        self.stage = Stage.JUDGED
        self.verdict = verdict
        return waiting or []

    def predict(self, verdict: Verdict) -> None:
        """Equivalence says what the oracle would."""
        self.stage = Stage.PREDICTED
        self.predicted = verdict

    def doubt(self) -> None:
        """Forget what was predicted."""
        self.predicted = None
        if self.stage is Stage.PREDICTED:
            self.stage = Stage.UNTESTED

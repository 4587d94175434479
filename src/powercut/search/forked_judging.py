"""Judging a state where the check may be forked, and comparing what forks say with runs in the usual way.

Before: the folder holds the image of the job's state. After: a verdict, which a run in the usual way would give as far
as samples can tell. Where the two differ, both are asked again. A check that always says one thing when it is forked
and another when it is started is `disproved`, and so are its earlier verdicts; one that says this or that by chance
contradicts itself: it is not forked any more, and the user is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from powercut.image.folder import ImageFolder
from powercut.oracle.protocol import Oracle, Told
from powercut.oracle.verdict import Verdict
from powercut.quick_dataclass import dataclass
from powercut.search.decision_tree import says_the_same
from powercut.search.jobs import Job

AGAIN = 2  # times that each way is asked again where they differ


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and how it came about.

    Attributes:
        forked: a fork gave it.
        disproved: how forks differ from runs in the usual way; empty if they do not.
        contradiction: how the check contradicts itself, whichever way it is run; empty if it does not.
        proving: seconds that runs took which only proved it.
    """

    verdict: Verdict
    forked: bool = False
    disproved: str = ""
    contradiction: str = ""
    proving: float = 0.0


@dataclass(frozen=True, slots=True)
class ForkedJudging:
    """How one worker asks its oracle."""

    oracle: Oracle
    folder: ImageFolder
    place: Path
    begin: Callable[[], None]  # called before each run, which may take as long as one may

    def judge(self, job: Job, told: Told) -> Judged:
        """Judge the image that the folder holds."""
        self.begin()
        verdict = self.oracle.judge(self.place, told, self.folder.collect)
        if not self.oracle.forked:
            return Judged(verdict)
        if not self.oracle.must_be_proved(verdict):
            return Judged(verdict, forked=True)
        return self._prove(job, told, verdict)

    def _prove(self, job: Job, told: Told, verdict: Verdict) -> Judged:
        started = time.monotonic()
        plain = self._ask(job, told, self.oracle.judge_anew)
        if says_the_same(plain, verdict):
            return Judged(plain, proving=time.monotonic() - started)
        again = [(self._ask(job, told, self.oracle.judge), self.oracle.forked) for _ in range(AGAIN)]
        forks = [one for one, forked in again if forked]  # the others do not speak for forks
        plains = [self._ask(job, told, self.oracle.judge_anew) for _ in range(AGAIN)]
        steady = all(says_the_same(verdict, one) for one in forks) and all(says_the_same(plain, one) for one in plains)
        how = f"{verdict.outcome.value} when it is forked, {plain.outcome.value} when it is started"
        self.oracle.stop_forking(how)
        return Judged(plain, disproved=how) if steady else Judged(plain, contradiction=_both(verdict, plain))

    def _ask(self, job: Job, told: Told, ask: Callable[..., Verdict]) -> Verdict:
        self.folder.move_to(job.state)
        self.begin()
        return ask(self.place, told, self.folder.collect)


def _both(verdict: Verdict, other: Verdict) -> str:
    """What a check said of one state."""
    return f"{verdict.outcome.value} once, {other.outcome.value} another time"

"""Taking states from the strategies: only those whose image is new are run.

Before: a state that was not taken before. After: it is counted once, as tested, known from an earlier run, equal to
another one, or equivalent; if it fails, it is a failure as soon as that is known. What equivalence had decided wrongly
is run after all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count

from powercut.findings.questions import Question
from powercut.oracle.verdict import Verdict
from powercut.search.cache_check import CacheCheck
from powercut.search.equivalence import Equivalence
from powercut.search.events import Counts
from powercut.search.image_judging import ImageJudging
from powercut.search.image_record import Stage, Taken
from powercut.search.jobs import Job, Result, Watching
from powercut.states.state import State
from powercut.states.timeline import Timeline

KEEPING_SECONDS = 1.0  # for what is left to later runs


class StateIntake:
    """Where states come in."""

    def __init__(
        self,
        timelines: Sequence[Timeline],
        images: ImageJudging,
        equivalence: Equivalence | None,
        counts: Counts,
        failed: Callable[[Taken], None],
    ) -> None:
        """`failed` is given the states that are known to fail when they come in."""
        self._timelines = timelines
        self._images = images
        self._equivalence = equivalence
        self._counts = counts
        self._failed = failed
        self._turns = count()  # states are explained in the order in which they are taken, on every machine
        if equivalence is not None:
            images.on_result = self._learn

    @property
    def waits(self) -> bool:
        """Whether the next state must wait for what is running."""
        if not self._images.has_room:
            return True
        return self._equivalence is not None and self._equivalence.waits(self._images.running)

    @property
    def is_pointless(self) -> bool:
        """Whether no state can show more than those that were taken."""
        return self._equivalence is not None and self._equivalence.is_blind

    def take_with_latest_output(self, number: int, state: State) -> bool:
        """Send a state to be judged as its crash point owes it; one that owes less is judged, too, and not counted."""
        question, latest = Question(state), self._timelines[number].latest_output(state)
        if latest is not None:
            self._take(number, question, counts=False)
            question = Question(state, latest)
        return self._take(number, question, counts=True)

    def _take(self, number: int, question: Question, *, counts: bool) -> bool:
        """Send a state to be judged, unless its image was or is being judged."""
        record = self._images.record(number, question)
        taken = Taken(next(self._turns), number, question)
        known = record.known
        if known is not None:
            self._counts.equal += counts
            self._know(taken, known)
            return False
        if record.is_running:
            self._counts.equal += counts
            record.wait(taken)
            return False
        recalled = self._images.recall(record, Stage.CACHED)
        if recalled is not None:
            self._counts.known += counts
            self._counts.failed += counts and not recalled.passed
            self._know(taken, recalled)
            return True
        decided = Watching.NOT if self._equivalence is None else self._equivalence.decide(number, question)
        if isinstance(decided, Verdict):
            self._counts.equivalent += counts
            record.predict(decided)
            self._know(taken, decided)
            return False
        record.run(taken)
        self._images.submit(record, number, question, counts=counts, looks=decided)
        return True

    def _know(self, taken: Taken, verdict: Verdict) -> None:
        if not verdict.passed:
            self._failed(taken)

    def _learn(self, job: Job, result: Result) -> None:
        """Let equivalence take in a run; what it had decided wrongly is run after all."""
        assert self._equivalence is not None
        doubted = self._equivalence.learn(job, result)
        if doubted:
            for record in self._images.records:
                record.doubt()
        for number, question in doubted:
            counted = self._timelines[number].latest_output(question.state) == question.output_until
            self._counts.equivalent -= counted
            self._take(number, question, counts=counted)

    def keep_predictions(self, cache: CacheCheck) -> None:
        """Leave to later runs what equivalence decided, as far as that takes little time: they can decide it again."""
        deadline = time.monotonic() + KEEPING_SECONDS
        for record in self._images.records:
            if record.predicted is not None:
                cache.learn(record.key, record.predicted, None)
                if time.monotonic() > deadline:
                    break

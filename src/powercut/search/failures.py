"""Failing states on their way to findings: they are explained in the order in which they were taken.

Before: states that are known to fail, or predicted to. After: each was given to the diagnosis with what the oracle said
of it, as long as there is time; what is left is counted as unexplained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from powercut.findings.diagnose import Diagnosis
from powercut.findings.explaining_time import Over
from powercut.findings.finding import Finding
from powercut.search.image_judging import ImageJudging
from powercut.search.image_questions import ImageQuestions
from powercut.search.image_record import Taken
from powercut.states.timeline import Timeline


class Failures:
    """A queue of failing states."""

    def __init__(self) -> None:
        self._heap: list[Taken] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, taken: Taken) -> None:
        """A state fails."""
        heappush(self._heap, taken)

    def take(self, unjudged: int | None) -> Taken | None:
        """The state that was taken first, unless one that was taken before it, in turn `unjudged`, has no verdict."""
        if not self._heap or (unjudged is not None and unjudged < self._heap[0].turn):
            return None
        return heappop(self._heap)


class Explaining:
    """Gives failing states to the diagnosis."""

    def __init__(
        self,
        timelines: Sequence[Timeline],
        failures: Failures,
        images: ImageJudging,
        questions: ImageQuestions,
        diagnosis: Diagnosis,
        found: Callable[[Finding], None],
        is_late: Over,
        is_over: Over,
    ) -> None:
        """`found` is told of each new finding; `is_late`: nothing more is explained, `is_over`: nor asked."""
        self._timelines = timelines
        self._failures = failures
        self._images = images
        self._questions = questions
        self._diagnosis = diagnosis
        self._found = found
        self._is_late = is_late
        self._is_over = is_over

    def explain(self) -> None:
        """Explain what fails by now."""
        while (failure := self._next()) is not None:
            _, number, question = failure
            verdict = self._questions.ask(number, [question], self._is_over)[0]
            if verdict is None:
                self._failures.add(failure)
                return
            if verdict.passed:  # it was said to fail because it holds what another one holds: only what was seen counts
                continue
            image = self._images.record(number, question).key
            state = question.state
            if question.output_until is not None:
                state = self._timelines[number].with_latest_output(state)
            for finding in self._diagnosis.explain(number, state, verdict, image):
                self._found(finding)

    def _next(self) -> Taken | None:
        if not self._failures or self._is_late():
            return None
        return self._failures.take(self._images.first_waiting())

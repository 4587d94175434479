"""Questions about states while a search runs: those that explain failures, and those of other stages.

Before: states of the search's timelines, whether it would take them or not. After: what the oracle says of each, from
memory where that is known; what is not answered when time is over is None, and left to itself. Questions count as no
states tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from powercut.findings.explaining_time import Over, never
from powercut.findings.questions import OutOfTime, Question
from powercut.oracle.verdict import Verdict
from powercut.search.image_judging import ImageJudging
from powercut.search.image_record import Stage
from powercut.states.state import State

_LISTEN = 0.2  # seconds until it is seen that time is over


class ImageQuestions:
    """Asks about images."""

    def __init__(self, images: ImageJudging, meanwhile: Callable[[], None]) -> None:
        """`meanwhile` is called again and again while answers are waited for."""
        self._images = images
        self._meanwhile = meanwhile

    def ask(self, number: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        """What the oracle says of some states of a timeline, as far as time allows."""
        images = self._images
        records = [images.record(number, question) for question in questions]
        for record, question in zip(records, questions, strict=True):
            if record.verdict is not None or record.is_running or images.recall(record, Stage.RECALLED) is not None:
                continue
            while not images.has_room and not over():
                images.pump(_LISTEN)
            if over():
                break
            if record.verdict is None and not record.is_running:  # it may have been taken while room was waited for
                record.run()
                images.submit(record, number, question)
        while any(record.is_running for record in records) and not over():
            images.pump(_LISTEN)
            self._meanwhile()
        return [record.verdict for record in records]

    def where_it_dies(self, number: int, state: State, over: Over = never) -> tuple[str, ...]:
        """The stack of the oracle where it dies on a state."""
        record = self._images.death(number, state)
        if record.verdict is None and not record.is_running:
            record.run()
            self._images.submit(record, number, Question(state), traced=True)
        while record.verdict is None and not over():
            self._images.pump(_LISTEN)
        if record.verdict is None:
            raise OutOfTime
        return record.verdict.stack

"""Shrinking a failing state: the fewest lost updates, at the earliest moment, that still fail.

Before: a state that the oracle refuses. After: a state that it refuses too, from which no lost update can be given
back without it passing (as far as `_MOST_QUESTIONS` goes), and in which the last event that happened is the one that
makes it fail. What was lost last is suspected first. A crash that loses nothing, at this moment, right before the event
that makes it fail or right before the first lost update, comes before any loss: it is the simpler story.

Losses are halved, not tried one by one: a question costs a run of the oracle. Every smaller state on the way is told,
so that the best one is known when time ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from powercut.findings.questions import Oracle, Question
from powercut.minimise import first_failing, gallop, needed_in_order
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind

_MOST_QUESTIONS = 120  # to find the fewest updates that must be lost
ONE_BY_ONE = 8  # moments around a crash between which nothing is passed over
_MOST_WRITES = 4  # calls that are tried in place of the one that was found
_WRITTEN = (UpdateKind.DATA, UpdateKind.SIZE)


def _is_inside(question: Question, mended: Question) -> bool:
    """Whether a loss lies inside what a known cause cuts off."""
    return bool(question.state.delta) and mended.state.point != question.state.point


class Shrinker:
    """Shrinks failing states of one timeline.

    Attributes:
        best: the smallest state so far that fails.
    """

    def __init__(
        self, number: int, timeline: Timeline, oracle: Oracle, question: Question, mend: Callable[[Question], Question]
    ) -> None:
        """What shall be shrunk: a question whose answer was no.

        `mend` takes known causes out of a question, so that a smaller state fails for a reason that is not known yet.
        """
        self.best = question
        self._number = number
        self._timeline = timeline
        self._oracle = oracle
        self._output_until = question.output_until
        self._mend = mend

    def shrink(self) -> Question:
        """A smaller state that fails as well."""
        lost = self._timeline.lost(self.best.state)
        if not lost:
            return self._earliest_kill()
        point = self.best.state.point
        if self._killed(point):
            return self._earliest_kill()
        self._lose_fewer(point, lost)
        if self._killed(2 * int(self._timeline.event[min(self.best.state.delta)]) - 1):
            return self._earliest_kill()
        before = self.best.state
        self._move_earlier()
        if self._killed(2 * (self.best.state.point // 2) - 1):  # what must happen together must do so either way round
            return self._earliest_kill()
        if len(self.best.state.delta) > 1 and self.best.state != before:
            self._lose_fewer(self.best.state.point, sorted(self.best.state.delta))
        self._lose_the_last_write()
        return self.best

    def _question(self, point: int, lost: Iterable[int]) -> Question:
        output_until = None if self._output_until is None or self._output_until >= point else self._output_until
        return Question(State(point, Base.ISSUED, frozenset(lost)), output_until)

    def _ask(self, questions: Sequence[Question]) -> list[bool]:
        """Which of some states fail for a reason that is not known yet; the smallest of them is the best by now."""
        mended = [self._mend(question) for question in questions]
        # A loss inside what a known cause cuts off is no good example: the moments before and after it are.
        clear = [not _is_inside(question, new) or self._inside for question, new in zip(questions, mended, strict=True)]
        asked = [new for new, is_clear in zip(mended, clear, strict=True) if is_clear]
        answers = iter(self._oracle.fails(self._number, asked))
        failed = [is_clear and next(answers) for is_clear in clear]
        self.best = min(
            [self.best, *(q for q, fail in zip(questions, failed, strict=True) if fail)],
            key=lambda question: (len(question.state.delta), question.state.point),
        )
        return failed

    @property
    def _inside(self) -> bool:
        """Whether there is no better example than one inside what a known cause cuts off."""
        return _is_inside(self.best, self._mend(self.best))

    def _killed(self, point: int) -> bool:
        """Whether a crash at a point fails that loses nothing."""
        return point >= 0 and self._ask([self._question(point, ())])[0]

    def _lose_fewer(self, point: int, lost: Sequence[int]) -> None:
        """Find updates none of which can be given back: what was lost last is suspected first."""

        def losing(updates: Sequence[int]) -> Question:
            return self._question(point, self._timeline.lost_with(updates, point))

        def fail(losses: Sequence[Sequence[int]]) -> list[bool]:
            return self._ask([losing(updates) for updates in losses])

        fewer = needed_in_order(sorted(lost, reverse=True), fail, _MOST_QUESTIONS)
        self.best = min(self.best, losing(fewer), key=lambda question: len(question.state.delta))

    def _move_earlier(self) -> None:
        """To the earliest crash with this loss that fails."""
        point, lost = self.best.state.point, self.best.state.delta
        times = [*self._timeline.happenings(2 * int(self._timeline.event[min(lost)]), point), point]
        position = first_failing(len(times), lambda some: self._ask([self._at(times[s], lost) for s in some]))
        self.best = self._at(times[position], lost)

    def _lose_the_last_write(self) -> None:
        """Of several writes to one file, which one sync would save, the last whose loss fails is told.

        So it is the same one, whichever failing state was seen first.
        """
        timeline, state = self._timeline, self.best.state
        updates, stacks = timeline.updates, timeline.trace.events["stack"]
        files = {updates.obj[update] for update in state.delta if updates.kind[update] in _WRITTEN}
        told = {int(stacks[timeline.event[update]]) for update in state.delta}
        last: dict[int, int] = {}
        for update in reversed(range(max(state.delta) + 1, timeline.issued(state.point - 1))):
            stack = int(stacks[timeline.event[update]])
            written = updates.obj[update] in files and updates.kind[update] in _WRITTEN
            if written and stack not in told and not timeline.is_guaranteed(update, state.point):
                last.setdefault(stack, update)
        if len(files) != 1 or files & set(timeline.in_lines) or not last:
            return
        losses = [
            self._question(state.point, timeline.lost_with([u], state.point)) for u in [*last.values()][:_MOST_WRITES]
        ]
        failed = self._ask(losses)
        if True in failed:
            self.best = losses[failed.index(True)]

    def _at(self, time: int, lost: Iterable[int]) -> Question:
        issued = self._timeline.issued(time)
        return self._question(time, (update for update in lost if update < issued))

    def _earliest_kill(self) -> Question:
        """The first of the moments in a row, ending with this one, at which a plain kill fails."""
        before = self._timeline.happenings(0, self.best.state.point)[::-1]

        def pass_(positions: Sequence[int]) -> list[bool]:
            return [not failed for failed in self._ask([self._at(before[position], ()) for position in positions])]

        passing = gallop(len(before), pass_, ONE_BY_ONE)
        if passing:
            self.best = self._at(before[passing - 1], ())
        return self.best

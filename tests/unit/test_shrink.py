"""Shrinking: the fewest lost updates at the earliest moment, in few questions, most recent suspects first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from powercut.findings.explaining_time import ExplainingTime, Over
from powercut.findings.questions import Oracle, OutOfTime, Question
from powercut.findings.shrink import Shrinker
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.verdict import Outcome, Verdict
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from tests.models.random_runs import to_trace


class Counted:
    """An oracle that is a function of states, and counts what it is asked."""

    def __init__(self, fails: Callable[[State], bool]) -> None:
        self.asked = 0
        self._fails = fails

    def judge(self, number: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        self.asked += len(questions)
        return [Verdict(Outcome.FAIL if self._fails(q.state) else Outcome.PASS, 1) for q in questions]


def log_of(count: int) -> Timeline:
    """A timeline of so many appended blocks that are never synced."""
    writes = [("write", "log", 4096 * number, b"x" * 4096, "") for number in range(count)]
    return Timeline(to_trace([("create", "log"), ("sync",), *writes]), FILE_SYSTEMS["posix"])


def shrunk(timeline: Timeline, fails: Callable[[State], bool], state: State) -> tuple[State, int]:
    counted = Counted(fails)
    oracle = Oracle(counted.judge, ExplainingTime())
    return Shrinker(0, timeline, oracle, Question(state), lambda some: some).shrink().state, counted.asked


def everything_lost(timeline: Timeline) -> State:
    return State(timeline.end, Base.ISSUED, frozenset(timeline.pending(timeline.end)))


@pytest.mark.parametrize("culprit", [3, 700, 1399])
def test_one_loss_among_many_takes_few_questions(culprit: int) -> None:
    timeline = log_of(700)
    wanted = timeline.pending(timeline.end)[culprit]
    found, asked = shrunk(timeline, lambda state: wanted in state.delta, everything_lost(timeline))
    assert wanted in found.delta and len(found.delta) <= 3  # and what cannot be without it
    assert found.delta == timeline.lost_with([wanted], found.point)
    assert asked <= 45  # one by one it would be 2100


def test_two_losses_that_must_come_together_are_both_kept() -> None:
    timeline = log_of(100)
    pending = timeline.pending(timeline.end)
    both = {pending[4], pending[150]}
    found, asked = shrunk(timeline, lambda state: both <= state.delta, everything_lost(timeline))
    assert both <= found.delta <= timeline.lost_with(both, found.point)
    assert asked <= 60


def test_the_most_recent_of_equal_suspects_is_told() -> None:
    timeline = log_of(50)
    found, _ = shrunk(timeline, lambda state: bool(state.delta), everything_lost(timeline))
    assert found.delta == timeline.lost_with([timeline.pending(timeline.end)[-1]], found.point)


def test_when_time_ends_the_best_so_far_is_known() -> None:
    timeline = log_of(100)
    wanted = timeline.pending(timeline.end)[7]
    counted = Counted(lambda state: wanted in state.delta)
    left = 12

    def judge(number: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        nonlocal left
        left -= len(questions)
        return counted.judge(number, questions, over) if left >= 0 else [None] * len(questions)

    shrinker = Shrinker(
        0, timeline, Oracle(judge, ExplainingTime()), Question(everything_lost(timeline)), lambda some: some
    )
    with pytest.raises(OutOfTime):
        shrinker.shrink()
    assert wanted in shrinker.best.state.delta
    assert len(shrinker.best.state.delta) <= len(timeline.pending(timeline.end))

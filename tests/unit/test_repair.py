"""Taking a cause out of a state: what is added, and what is given back."""

from __future__ import annotations

import pytest

from powercut.findings.questions import Question
from powercut.findings.repair import GoOn, executions_between
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Flag
from tests.models.random_runs import to_trace

WIDE = 7  # the call stack of one instruction that stores twice


@pytest.fixture
def timeline() -> Timeline:
    """Events 4 to 6 store A, B and C, as a compiler does: B and C are one wide store. The same once more: 8 to 10."""
    stores = [("write", "a", 8 * place, letter * 8, "") for place, letter in enumerate((b"A", b"B", b"C"))]
    start = [("create", "a"), ("write", "a", 0, bytes(24), ""), ("sync",)]
    trace = to_trace([*start, *stores, ("sync",), *stores, ("sync",)])
    trace.events = trace.events.copy()
    for event in (5, 6, 9, 10):
        trace.events["stack"][event] = WIDE
    trace.events["stack"][[4, 8]] = 3
    trace.events["flags"][[6, 10]] |= int(Flag.REST)
    return Timeline(trace, FILE_SYSTEMS["ext4-ordered"])


@pytest.mark.parametrize("last", [8, 9])
def test_a_cut_goes_on_to_the_end_of_a_wide_store(timeline: Timeline, last: int) -> None:
    """The next execution of that instruction is only the first half of it."""
    repaired = GoOn(4, 6, None, nth=2)(timeline, Question(State(2 * last, Base.ISSUED, frozenset())))
    assert repaired.state == State(20, Base.ISSUED, frozenset())


def test_the_lost_half_of_a_wide_store_is_given_back(timeline: Timeline) -> None:
    (half,) = timeline.updates_of(10)
    repaired = GoOn(4, 6, [], nth=2)(timeline, Question(State(20, Base.ISSUED, frozenset([half]))))
    assert repaired.state == State(20, Base.ISSUED, frozenset())


def test_what_is_whole_stays_as_it_is(timeline: Timeline) -> None:
    question = Question(State(20, Base.ISSUED, frozenset()))
    assert GoOn(4, 6, None, nth=2)(timeline, question) == question


def test_the_parts_of_a_wide_store_are_counted(timeline: Timeline) -> None:
    assert [executions_between(timeline, 4, event) for event in (5, 6)] == [1, 2]
    assert executions_between(timeline, 9, 10) == 1  # where the cut is inside of it
    assert executions_between(timeline, 4, 8) == 1

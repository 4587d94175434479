"""The queue of strategies: all of them take turns, nothing is left out, and what is new comes first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.builtin import BuiltinOracle
from powercut.search import exploration
from powercut.search.budget import Budget
from powercut.search.events import Event
from powercut.search.exploration import Exploration
from powercut.search.inline_executor import InlineExecutor
from powercut.states import state_counts, strategies
from powercut.states.state import Base, State
from powercut.states.state_counts import StateCounts
from powercut.states.strategies import FIRST_TURN, STRATEGIES, Tally, queue
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from tests.models.stacked_runs import StackedWriter, random_timeline

seeds = st.integers(0, 2**32)
ENDING = [name for name in STRATEGY_NAMES if name != "samples"]


def writes(files: int, times: int, *, synced: bool) -> Timeline:
    """A program that writes to some files again and again, and says so each time."""
    writer = StackedWriter(0, 1)
    writer.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
    for number in range(files):
        writer.event(Kind.SNAP_FILE, inode=number + 1, path=b"%d" % number, length=1 << 20, extra=0o100644)
    for turn in range(times):
        for number in range(files):
            writer.event(Kind.WRITE, inode=number + 1, offset=4096 * turn, data=b"x" * 4096)
            if synced:
                writer.event(Kind.FSYNC, inode=number + 1)
        writer.event(Kind.OUTPUT, data=b"said", extra=1)
    return Timeline(writer.trace(), FILE_SYSTEMS["posix"])


@given(seeds, st.booleans())
@settings(max_examples=40)
def test_the_queue_gives_what_its_strategies_give_and_the_same_every_time(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    found = list(queue(timeline, 0, ENDING))
    assert found == list(queue(timeline, 0, ENDING))
    for name in ENDING:
        assert [s for mine, s in found if mine == name] == list(
            STRATEGIES[name](timeline, random.Random(0), Tally(timeline))
        )


@given(seeds, st.booleans())
@settings(max_examples=20)
def test_two_searches_of_one_timeline_count_for_themselves(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    one, other = Tally(timeline), Tally(timeline)
    states = list(STRATEGIES["representatives"](timeline, random.Random(0), one))
    assert one.behaviors is not None
    assert one.behaviors.counts()["states"] == len(states)
    assert other.behaviors is None
    half = list(islice(STRATEGIES["representatives"](timeline, random.Random(0), other), len(states) // 2))
    assert half == states[: len(half)]
    assert one.behaviors.counts()["states"] == len(states)


def test_strategies_take_turns_of_twice_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
        while True:
            yield State(0, Base.ISSUED, frozenset())

    def short(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
        yield from islice(endless(timeline, rng, tally), FIRST_TURN + 6)

    table = {"prefixes": endless, "torn": short, "samples": endless}
    monkeypatch.setattr(strategies, "STRATEGIES", table)
    some = islice(queue(writes(1, 1, synced=True), 0, list(table)), 7 * FIRST_TURN)
    turns = [(name, len(list(states))) for name, states in groupby(name for name, _ in some)]
    first, second = FIRST_TURN, 2 * FIRST_TURN
    rest = [("torn", 6), ("samples", 7 * first - 3 * first - second - 6)]
    assert turns == [("prefixes", first), ("torn", first), ("samples", first), ("prefixes", second), *rest]


@given(seeds, st.booleans())
@settings(max_examples=40)
def test_every_pending_update_of_every_point_is_lost_and_kept_alone(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    pending = [(point, update) for point in timeline.points for update in timeline.pending(point)]
    for name, make in (("one-missing", timeline.without), ("one-early", timeline.with_only)):
        states = list(STRATEGIES[name](timeline, random.Random(0), Tally(timeline)))
        assert set(states) == {make([update], point) for point, update in pending}
        assert all(timeline.is_possible(state) for state in states)


def test_one_loss_of_every_call_stack_comes_before_a_second_one_of_any() -> None:
    writer = StackedWriter(0, 1)
    writer.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
    writer.event(Kind.SNAP_FILE, inode=1, path=b"log", length=1 << 20, extra=0o100644)
    for turn in range(12):
        stack = turn % 3 + 1
        super(StackedWriter, writer).event(Kind.WRITE, inode=1, offset=4096 * turn, data=b"x" * 4096, stack=stack)
        super(StackedWriter, writer).event(Kind.FSYNC, inode=1, stack=4)
    timeline = Timeline(writer.trace(), FILE_SYSTEMS["ext4-ordered"])
    states = islice(STRATEGIES["one-missing"](timeline, random.Random(0), Tally(timeline)), 6)
    lost = [{int(timeline.trace.events["stack"][timeline.event[u]]) for u in state.delta} for state in states]
    assert lost == [{1}, {2}, {3}] * 2


def test_a_point_in_front_of_something_new_comes_before_those_of_a_loop() -> None:
    writer = StackedWriter(0, 1)
    writer.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
    writer.event(Kind.SNAP_FILE, inode=1, path=b"log", length=1 << 20, extra=0o100644)
    for turn in range(50):
        super(StackedWriter, writer).event(Kind.WRITE, inode=1, offset=4096 * turn, data=b"x" * 4096, stack=1)
        super(StackedWriter, writer).event(Kind.FSYNC, inode=1, stack=3 if turn == 40 else 2)
    timeline = Timeline(writer.trace(), FILE_SYSTEMS["ext4-ordered"])
    points = [state.point for state in STRATEGIES["only-guaranteed"](timeline, random.Random(0), Tally(timeline))]
    assert sorted(points) == list(timeline.points)
    stacks = timeline.trace.events["stack"]
    at = [int(stacks[(point + 1) // 2]) for point in points[:-1] if point != timeline.end]
    assert at.index(3) <= 2 * strategies.FIRST_OCCURRENCES


@pytest.mark.parametrize("limit", [10, 100_000])
def test_a_search_that_covers_everything_ends_and_says_so(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many states in a row show nothing new: only random ones may be given up."""
    monkeypatch.setattr(exploration, "MOST_REPEATS", limit)
    timeline = writes(3, 3, synced=False)
    search = _explore(timeline)
    assert StateCounts(timeline).is_enumerable()
    assert search.counts.exhausted
    assert search.counts.tested + search.counts.equal == StateCounts(timeline).total()


def test_random_states_are_given_up_when_they_show_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "MOST_REPEATS", 2000)
    monkeypatch.setattr(state_counts, "EXHAUSTIVE_LIMIT", 4)
    monkeypatch.setattr(state_counts, "ALWAYS_SMALL", 0)
    search = _explore(writes(3, 1, synced=False))
    assert not search.counts.exhausted


def test_many_small_points_need_no_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_counts, "ALL_COUNT_STEPS", 0)
    timeline = writes(4, 20, synced=True)
    assert StateCounts(timeline).is_enumerable()
    assert _explore(timeline).counts.exhausted


def _explore(timeline: Timeline) -> Exploration:
    def ignore(event: Event) -> None:
        """Nobody listens."""

    oracle = BuiltinOracle(timeline)
    search = Exploration([timeline], InlineExecutor([timeline], oracle), oracle.output_key, Budget(), 0, ignore)
    search.run()
    return search


def test_behaviors_are_grouped_only_if_that_takes_a_small_part_of_the_time_that_is_left() -> None:
    timeline = random_timeline(3, False)
    needed = len(timeline.updates) * strategies.GROUPING_SECONDS / strategies.GROUPING_SHARE
    for left, too_late in ((None, False), (1.01 * needed, False), (0.99 * needed, True), (0.0, True)):
        tally = Tally(timeline, lambda left=left: left)
        states = list(STRATEGIES["representatives"](timeline, random.Random(0), tally))
        assert (tally.too_late, tally.behaviors is None, not states) == (too_late,) * 3

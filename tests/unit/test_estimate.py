"""Estimates of the number of states: right on average, with an error that is one, and quick whatever the size."""

from __future__ import annotations

import math
import random
import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.estimate import Estimate, estimate_states
from powercut.states.lattice import Lattice
from powercut.states.state_counts import COUNT_STEPS, StateCounts, total_of
from powercut.states.timeline import Timeline
from tests.models.random_runs import RunMaker, to_trace


def truth(timeline: Timeline, points: list[int]) -> int:
    counts = [Lattice(timeline, point).count(1 << 22) for point in points]
    assert None not in counts
    return sum(count for count in counts if count is not None)


def close(estimate: Estimate, exact: int, errors: float = 6.0) -> bool:
    """Whether an estimate is as near as its error says; some per cent are always allowed."""
    return abs(10**estimate.log10 / exact - 1) <= errors * estimate.error + 0.02


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(list(FILE_SYSTEMS.values())), st.integers(6, 30))
def test_an_estimate_is_as_near_to_the_exact_count_as_its_error_says(seed: int, row: object, length: int) -> None:
    timeline = Timeline(to_trace([*RunMaker(seed).make(length), ("print", b"x")]), row)  # type: ignore[arg-type]
    points = [point for point in timeline.points if len(timeline.pending(point)) < 40]
    if points:
        estimate = estimate_states(timeline, 0, points, seed, seconds=0.05)
        assert close(estimate, truth(timeline, points)), (estimate, truth(timeline, points))


def test_estimates_are_right_on_average() -> None:
    """Not only near: the mean of many small estimates is the count, and their scatter is what they say it is."""
    timeline = Timeline(to_trace([*RunMaker(12).make(40), ("print", b"x")]), FILE_SYSTEMS["posix"])
    points = [point for point in timeline.points if 8 < len(timeline.pending(point)) < 40]
    exact = truth(timeline, points)
    found = [estimate_states(timeline, 0, points, seed, seconds=0.0) for seed in range(200)]
    ratios = [10**estimate.log10 / exact for estimate in found]
    mean = sum(ratios) / len(ratios)
    scatter = math.sqrt(sum((ratio - mean) ** 2 for ratio in ratios) / len(ratios))
    assert abs(mean - 1) < 4 * scatter / math.sqrt(len(ratios))
    said = math.sqrt(sum(estimate.error**2 for estimate in found) / len(found))
    assert scatter > 0.01 and 0.5 < said / scatter < 2


def test_a_sample_of_the_points_says_how_far_it_may_be_off() -> None:
    ops = [op for n in range(300) for op in (("create", f"f{n}"), ("write", f"f{n}", 0, b"x" * (n % 7 * 4096), ""))]
    ops = [op for n, pair in enumerate(zip(ops[::2], ops[1::2], strict=True)) for op in (*pair, ("print", b"%d" % n))]
    syncs = [op for n, op in enumerate(ops) for op in ((op, ("sync",)) if n % 9 == 8 else (op,))]
    timeline = Timeline(to_trace(syncs), FILE_SYSTEMS["posix"])
    points = timeline.points
    assert len(points) > 250
    estimate = estimate_states(timeline, 0, points)
    assert 0.01 < estimate.error < 1
    assert close(estimate, truth(timeline, points))


def test_more_states_than_a_float_can_hold_take_no_longer() -> None:
    rng = random.Random(1)
    ops = [("create", f"f{n % 50}") for n in range(50)]
    ops += [("write", f"f{rng.randrange(50)}", rng.randrange(100) * 4096, b"x" * 100, "") for _ in range(6000)]
    timeline = Timeline(to_trace(ops), FILE_SYSTEMS["posix"])
    started = time.monotonic()
    total = StateCounts(timeline).total()
    assert isinstance(total, Estimate)
    assert time.monotonic() - started < 10  # about one second on a quiet machine
    assert 2000 < total.log10 < 3000
    assert str(total).startswith("about 10^2")


def test_counting_ends_with_its_time_and_leaves_the_rest_to_an_estimate() -> None:
    ops = [op for n in range(40) for op in (("create", f"f{n}"), ("print", b"%d" % n), *([("sync",)] * (n % 5 == 4)))]
    timeline = Timeline(to_trace(ops), FILE_SYSTEMS["posix"])
    exact = StateCounts(timeline).total()
    counts, clock = StateCounts(timeline), iter(range(1000))
    with patch.object(time, "thread_time", lambda: next(clock) / 10):
        total = counts.total()
    assert isinstance(exact, int) and isinstance(total, Estimate)
    assert close(total, exact)
    assert counts.total() == exact  # another time there is time


def test_steps_at_wide_points_count_for_what_they_take() -> None:
    timeline = Timeline(to_trace([("create", f"f{n}") for n in range(600)]), FILE_SYSTEMS["posix"])
    wide, narrow = Lattice(timeline, timeline.end), Lattice(timeline, 20)
    wide.count(COUNT_STEPS), narrow.count(COUNT_STEPS)
    assert narrow.steps <= 2 * len(narrow.pending)
    assert wide.steps > 10 * len(wide.pending)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(3.0, 0.04), "about 1,000 (± 4 %)"),
        (Estimate(9.5, 0.123), "about 3.2 × 10^9 (± 12 %)"),
        (Estimate(400.25, 1.5), "about 10^400"),
        (Estimate(3.0, 0.1).less(600), "about 400 (± 25 %)"),
        (Estimate(3.0, 0.1) + Estimate(3.0), "about 2,000 (± 5 %)"),
        (Estimate(500.0, 0.1) + Estimate(3.0), "about 10^500"),
    ],
)
def test_estimates_in_words(estimate: Estimate, words: str) -> None:
    assert str(estimate) == words


@pytest.mark.parametrize(
    ("counted", "told"),
    [(10**15 - 1, "999,999,999,999,999"), (7 * 10**195, "about 10^196"), (10**9000, "about 10^9000")],
    ids=["figures", "long", "of-9000-digits"],
)
def test_a_count_that_nobody_can_read_is_told_as_a_power_of_ten(counted: int, told: str) -> None:
    """Of 9,000 digits, Python makes no text at all: neither for people nor for the report."""

    class Counted:
        def total(self, seed: int, seconds: float) -> int:
            return counted

    total = total_of([Counted()])  # type: ignore[list-item]
    assert (f"{total:,}" if isinstance(total, int) else str(total)) == told

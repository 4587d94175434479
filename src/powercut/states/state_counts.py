"""Keeping what is known of how many states a timeline has, point by point (`estimate` has the arithmetic).

Before: a timeline. After: the number of states of each point that was asked about. Counting has a budget for all points
together, so what is out of reach depends on what was asked before: whoever asks keeps the counts, not the timeline.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from functools import reduce
from operator import add

from powercut.states.estimate import DIGITS, SECONDS, Estimate, estimate_states
from powercut.states.lattice import Lattice
from powercut.states.timeline import Timeline

EXHAUSTIVE_LIMIT = 1 << 16  # points with more states than this are sampled instead of enumerated
ALWAYS_SMALL = 16  # pending updates that cannot make more states
MOST_COUNTED = 1000  # points with more pending updates than this are not counted: masks of all pairs cost too much
COUNT_STEPS = 20_000  # for one point
ALL_COUNT_STEPS = 200_000  # for all points together


class StateCounts:
    """The states of one timeline, as far as somebody counted them."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: dict[int, int | None] = {}  # point -> how many
        self._steps = 0

    def is_small(self, point: int) -> bool:
        """Whether a point has few enough states to take them all."""
        if self._timeline.count_pending(point) <= ALWAYS_SMALL:
            return True
        count = self._count(point)
        return count is not None and count <= EXHAUSTIVE_LIMIT

    def large_points(self) -> array[int]:
        """The points that have too many."""
        return array("q", (point for point in self._timeline.points if not self.is_small(point)))

    def is_enumerable(self) -> bool:
        """Whether the strategy `exhaustive` holds every state, so that its end means that all were covered."""
        return not self.large_points()

    def total(self, seed: int = 0, seconds: float = SECONDS) -> int | Estimate:
        """How many states all points have together, or about how many, if those cannot be counted in reach.

        Estimating takes at most so many seconds, counting twice as many, or what one point takes.
        """
        ends = time.thread_time() + 2 * seconds
        counted, unknown = 0, array("q")
        for point in self._timeline.points:
            count = self._count_until(point, ends)
            if count is None:
                unknown.append(point)
            else:
                counted += count
        return estimate_states(self._timeline, counted, unknown, seed, seconds) if unknown else counted

    def _count_until(self, point: int, ends: float) -> int | None:
        """The same until this thread has worked so long: a machine under load counts as much as any."""
        return self._count(point) if point in self._known or time.thread_time() < ends else None

    def _count(self, point: int) -> int | None:
        """The number of states of a point; None where it is out of reach, or counting all has become too dear."""
        known = self._known
        if point not in known:
            steps = min(COUNT_STEPS, ALL_COUNT_STEPS - self._steps)
            if steps <= 0:
                return None
            if self._timeline.count_pending(point) > MOST_COUNTED:
                known[point] = None
                return None
            lattice = Lattice(self._timeline, point)
            known[point] = lattice.count(steps)
            self._steps += lattice.steps
        return known[point]


def total_of(counts: Sequence[StateCounts], seed: int = 0, seconds: float = SECONDS) -> int | Estimate:
    """How many states some timelines have together, or about how many; each has its part of the time.

    Numbers that nobody could read are told as estimates without an error: some have thousands of digits.
    """
    totals = [some.total(seed, seconds / len(counts)) for some in counts]
    counted = sum(total for total in totals if isinstance(total, int))
    estimates = [total for total in totals if isinstance(total, Estimate)]
    if not estimates:
        return counted if counted < 10**DIGITS else Estimate.of(counted)
    return reduce(add, estimates, Estimate.of(counted)) if counted else reduce(add, estimates)

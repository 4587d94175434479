"""Which states to ask about a sync that is taken away, the most telling ones first.

Before: a removal. After: states of its timeline, many of them new. A sync is there for what comes after it, so the
first question is always: what if the program did this and that, and what the sync had made durable was lost? Executions
that are followed by something not seen yet go first. Then pairs of one update that it made durable and a later one;
then every state of every point that has few enough of them; then, where a point has too many, some at random, without
end.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from powercut.arrays import distinct
from powercut.states.lattice import Lattice
from powercut.states.state import Base, State
from powercut.states.state_counts import StateCounts
from powercut.states.strategies import PAIR_LIMIT
from powercut.syncs.removal import Removal

AT_ONCE = 16  # executions whose first questions come before their next ones
NEAR = 200  # happenings after a sync that are looked at
MOMENTS = 12  # of these that are asked about: what no earlier one did
SINGLES = 8  # updates of one execution that are lost alone
LOST_TOO = 8  # updates that a random state loses beside one that it must lose
FOLLOWING = 3  # happenings that make an execution look like another


class Candidates:
    """The states of one removal that are worth asking about.

    Attributes:
        at_random: whether those that come are.
    """

    def __init__(self, removal: Removal, seed: int) -> None:
        self.at_random = False
        self._removal = removal
        self._timeline = removal.timeline
        self._counts = StateCounts(removal.timeline)
        self._random = random.Random(seed)

    def __iter__(self) -> Iterator[State]:
        executions = self._executions()
        for start in range(0, len(executions), AT_ONCE):
            yield from self._telling(executions[start : start + AT_ONCE])
        for execution in executions:
            yield from self._pairs(*execution)
        for point in self.points:
            if self._counts.is_small(point):
                yield from Lattice(self._timeline, point).states()
        self.at_random = True
        yield from self._samples()

    @cached_property
    def points(self) -> list[int]:
        """The crash points at which something can be lost that could not with the sync."""
        removal, points = self._removal, self._timeline.points
        wanted: set[int] = set()
        for guarantee, updates in removal.executions.items():
            last = max(map(removal.last_chance, updates))
            wanted.update(points[bisect_left(points, guarantee) : bisect_right(points, last)])
        return sorted(wanted)

    @cached_property
    def are_all(self) -> bool:
        """Whether every new state is among them, so that they come to an end."""
        return all(self._counts.is_small(point) for point in self.points)

    # What follows an execution

    @cached_property
    def _happenings(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Events that changed or said something."""
        said = np.array([index for index, _ in self._timeline.outputs], np.int64)
        return distinct(np.concatenate((self._timeline.event.astype(np.int64), said)))

    def _after(self, guarantee: int, count: int) -> list[int]:
        first = int(np.searchsorted(self._happenings, guarantee // 2, side="right"))
        found: list[int] = self._happenings[first : first + count].tolist()
        return found

    def _executions(self) -> list[tuple[int, list[int]]]:
        """Guarantee and updates of each execution; those first that are followed by something new."""
        stacks = self._timeline.trace.events["stack"]
        new: list[tuple[int, list[int]]] = []
        old: list[tuple[int, list[int]]] = []
        seen: set[tuple[int, ...]] = set()
        for guarantee, updates in self._removal.executions.items():
            following = tuple(int(stacks[event]) for event in self._after(guarantee, FOLLOWING))
            (old if following in seen else new).append((guarantee, updates))
            seen.add(following)
        return new + old

    def _moments(self, guarantee: int, updates: list[int]) -> list[int]:
        """Crash points after a sync: right after each new thing that the program does, and the last one of all."""
        last = max(map(self._removal.last_chance, updates))
        stacks = self._timeline.trace.events["stack"]
        points: dict[int, int] = {}  # call stack -> point
        for event in self._after(guarantee, NEAR):
            if 2 * event > last or len(points) == MOMENTS:
                break
            stack = int(stacks[event])
            points.setdefault(stack if stack else -event, 2 * event)
        return [*points.values(), last]

    def _telling(self, executions: list[tuple[int, list[int]]]) -> Iterator[State]:
        """All that an execution made durable lost; nothing but what had to survive and one change; one update lost."""
        cases = [
            (point, [update for update in updates if self._removal.last_chance(update) >= point])
            for guarantee, updates in executions
            for point in self._moments(guarantee, updates)
        ]
        cases = [(point, updates) for point, updates in cases if updates]
        for point, updates in cases:
            yield self._timeline.without(updates, point)
        for point, _ in cases:
            yield State(point, Base.GUARANTEED, frozenset())
            changes = [u for u in self._timeline.updates_of(point // 2) if self._timeline.guaranteed[u] > point]
            if changes:
                yield self._timeline.with_only(changes, point)
        for point, updates in cases:
            if len(updates) > 1:
                for update in updates[:SINGLES]:
                    yield self._timeline.without([update], point)

    def _pairs(self, guarantee: int, updates: list[int]) -> Iterator[State]:
        """One thing that an execution made durable is lost, and one that came later is too, or is all that is not."""
        last = max(map(self._removal.last_chance, updates))
        lost = [update for update in updates if self._removal.last_chance(update) == last]
        pending = self._timeline.pending(last)
        later = pending[bisect_left(pending, self._timeline.issued(guarantee)) :]
        if len(lost) > PAIR_LIMIT or len(later) > PAIR_LIMIT:
            return
        for other in later:
            kept = self._timeline.required_by([other], last)
            rest = [update for update in later if update not in kept]
            for update in lost:
                yield self._timeline.without([update, other], last)
                if update not in kept:
                    yield self._timeline.without([update, *rest], last)

    def _samples(self) -> Iterator[State]:
        """Random states of the points that have too many, each lacking something that the sync made durable."""
        large = [point for point in self.points if not self._counts.is_small(point)]
        rng, guaranteed = self._random, self._removal.original.updates.guaranteed
        while large:
            point = rng.choice(large)
            pending = self._timeline.pending(point)
            must = [update for update in pending if guaranteed[update] <= point]
            some = rng.sample(pending, rng.randint(0, min(len(pending), LOST_TOO)))
            yield self._timeline.without([rng.choice(must), *some], point)

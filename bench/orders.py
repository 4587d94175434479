"""Orders of the search that order.py compares: the default, what it was before, and others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from unittest.mock import patch

import numpy as np

from powercut.states import strategies
from powercut.states.state import State
from powercut.states.strategies import STRATEGIES, Tally, joint_queue
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline

Timelines = Mapping[int, Timeline]
Order = Callable[[Timelines], Iterator[tuple[int, str, State]]]

SINGLE = ("one-missing", "one-early")
KILLS = ("failure-points", "store-points", "prefixes")
LATER = STRATEGY_NAMES[6:]  # torn, representatives, ...: all orders end with them
OLD = ("only-guaranteed", *KILLS, *SINGLE, *LATER)


def turns(names: Sequence[str], first: int) -> Order:
    """Strategies in turns, each of which is twice as long as the one before."""

    def states(timelines: Timelines) -> Iterator[tuple[int, str, State]]:
        each = ((name, number) for name in names for number in timelines)
        tallies = {number: Tally(timeline) for number, timeline in timelines.items()}
        waiting = [
            (number, name, STRATEGIES[name](timelines[number], random.Random(0), tallies[number]))
            for name, number in each
        ]
        turn = first
        while waiting:
            going_on = []
            for number, name, some in waiting:
                taken = 0
                for state in islice(some, turn):
                    taken += 1
                    yield number, name, state
                if taken == turn:
                    going_on.append((number, name, some))
            waiting, turn = going_on, 2 * turn

    return states


def as_before(order: Order) -> Order:
    """The same, with updates of new call stacks in the order of time, as it once was."""

    def states(timelines: Timelines) -> Iterator[tuple[int, str, State]]:
        with patch.object(strategies, "_new_updates", _in_order_of_time):
            yield from order(timelines)

    return states


def _in_order_of_time(timeline: Timeline) -> list[tuple[int, int]]:
    points = np.array(timeline.points, np.int64)
    stacks = timeline.trace.events["stack"][timeline.event]
    updates = np.flatnonzero(strategies._are_new(stacks))
    first = points[np.searchsorted(points, 2 * timeline.event[updates].astype(np.int64))]
    last = points[np.searchsorted(points, timeline.guaranteed[updates]) - 1]
    at = chain(zip(first.tolist(), updates.tolist(), strict=True), zip(last.tolist(), updates.tolist(), strict=True))
    return sorted({(point, update) for point, update in at if timeline.updates.guaranteed[update] > point})


def default(timelines: Timelines) -> Iterator[tuple[int, str, State]]:
    """That of a search."""
    return joint_queue(timelines, 0)


def singles_first(timelines: Timelines) -> Iterator[tuple[int, str, State]]:
    """One update missing, and one early, to their end; then all others."""
    yield from joint_queue(timelines, 0, SINGLE)
    yield from joint_queue(timelines, 0)


ORDERS: dict[str, Order] = {
    "before": as_before(turns(OLD, 64)),
    "default": default,
    "one missing, one early first": singles_first,
    "kills first": turns((*KILLS, *SINGLE, "only-guaranteed", *LATER), 64),
    "only guaranteed last": turns((*SINGLE[:1], *KILLS[:2], "one-early", "prefixes", "only-guaranteed", *LATER), 32),
}

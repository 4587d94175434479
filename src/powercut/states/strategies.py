"""Which states are worth testing next: a queue from likely to exhaustive.

Each strategy is a generator of states of one timeline; queues let them take turns, the cheap and telling ones first,
so that a budget may stop it anywhere and a long trace does not keep the later ones from starting. Single losses come
first, then states that lose all they can: these show many mistakes at once, which are told apart (bench/order.py has
what was measured). Within a strategy, updates and moments from call stacks that were
not seen yet go first, because most mistakes are made at every execution of a line. States of one base follow each other
as long as possible: an image moves from state to state at the cost of the difference.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import combinations, groupby, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct, one_by_one
from powercut.states.behaviors.find import representatives_of
from powercut.states.behaviors.tour import BehaviorTour
from powercut.states.failure_points import Granularity, failure_points
from powercut.states.lattice import Lattice
from powercut.states.state import Base, State
from powercut.states.state_counts import StateCounts
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline

FIRST_TURN = 16  # states of one strategy before the next one has its turn; each turn is twice as long as the one before
FIRST_OCCURRENCES = 2  # how often a call stack counts as new
SAMPLES_IN_A_ROW = 64  # of one point and one base
PAIR_LIMIT = 40  # points with more pending updates than this get no pairs
GROUPING_SECONDS = 8e-6  # that finding the behaviors of a long trace takes for each update
GROUPING_SHARE = 0.15  # of the time that is left: nothing else is searched meanwhile


def _endless() -> None:
    """No time limit."""


class Tally:
    """What the strategies of one timeline counted so far: a value of the search that they are part of.

    Attributes:
        counts: how many states points have.
        behaviors: how far representative testing came; None if it did not begin.
        left: the seconds that the search has left; None if it has no limit.
        too_late: representative testing would have taken too much of them.
    """

    def __init__(self, timeline: Timeline, left: Callable[[], float | None] = _endless) -> None:
        self.counts = StateCounts(timeline)
        self.behaviors: BehaviorTour | None = None
        self.left = left
        self.too_late = False


Strategy = Callable[[Timeline, random.Random, Tally], Iterator[State]]
_BY_NAME: dict[str, Strategy] = {}


def _strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Give a strategy its name, which must have a place in the order of `STRATEGY_NAMES`."""
    assert name in STRATEGY_NAMES, name

    def named(strategy: Strategy) -> Strategy:
        _BY_NAME[name] = strategy
        return strategy

    return named


@_strategy("only-guaranteed")
def only_guaranteed(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """The disk wrote nothing it did not have to."""
    for point in _points_by_novelty(timeline):
        yield State(point, Base.GUARANTEED, frozenset())


@_strategy("failure-points")
def killed_at_failure_points(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """The program was killed where it relies on what it stored, and nothing was lost; each call stack once."""
    for point in failure_points(timeline):
        yield point.state


@_strategy("store-points")
def killed_at_stores(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """The program was killed right before a change, and nothing was lost; each call stack once."""
    for point in failure_points(timeline, Granularity.STORE):
        yield point.state


@_strategy("prefixes")
def prefixes(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """The program was killed between two calls and nothing was lost, new call stacks first."""
    outputs = np.array([index for index, _ in timeline.outputs], np.int64)
    events = distinct(np.concatenate((timeline.event, outputs)))
    new = _are_new(timeline.trace.field("stack", events))
    for event in one_by_one(np.concatenate((events[new], events[~new]))):
        yield State(2 * event, Base.ISSUED, frozenset())
    yield State(timeline.end, Base.ISSUED, frozenset())


@_strategy("one-missing")
def one_missing(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """Everything survived but one update, and what cannot be without it."""
    for point, update in _pending_by_novelty(timeline):
        yield timeline.without([update], point)


@_strategy("one-early")
def one_early(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """Nothing survived beyond the guaranteed but one update, and what it cannot be without."""
    for point, update in _alike_together(timeline, _pending_by_novelty(timeline)):
        yield timeline.with_only([update], point)


@_strategy("torn")
def torn(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """One call survived in part: its first pieces, or its last."""
    for point in _points_by_novelty(timeline):
        for pieces in _calls(timeline, point):
            for cut in range(1, len(pieces)):
                yield timeline.without(pieces[cut:], point)
                yield timeline.without(pieces[:cut], point)
        for pieces in _calls(timeline, point):
            for cut in range(1, len(pieces)):
                yield timeline.with_only(pieces[:cut], point)


@_strategy("pairs")
def pairs(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """Two updates missing, or two early."""
    for point in _points_by_novelty(timeline):
        pending = timeline.pending(point)
        if len(pending) <= PAIR_LIMIT:
            for pair in combinations(pending, 2):
                yield timeline.without(pair, point)
            for pair in combinations(pending, 2):
                yield timeline.with_only(pair, point)


@_strategy("exhaustive")
def exhaustive(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """Every state of every point that has few enough of them."""
    for point in timeline.points:
        if tally.counts.is_small(point):
            yield from Lattice(timeline, point).states()


@_strategy("samples")
def samples(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """Random states of the points that are too large to enumerate; without end."""
    large = tally.counts.large_points()
    while large:
        point = rng.choice(large)
        pending = timeline.pending(point)
        make = timeline.without if rng.random() < 0.5 else timeline.with_only
        row = [rng.sample(pending, rng.randint(1, min(len(pending), 8))) for _ in range(SAMPLES_IN_A_ROW)]
        for some in _near_each_other(timeline, row):
            yield make(some, point)


@_strategy("representatives")
def representative_behaviors(timeline: Timeline, rng: random.Random, tally: Tally) -> Iterator[State]:
    """One of each kind of thing that the program does, every way it can be cut off (Pathfinder)."""
    left = tally.left()
    tally.too_late = left is not None and len(timeline.updates) * GROUPING_SECONDS > GROUPING_SHARE * left
    if not tally.too_late:
        tally.behaviors = BehaviorTour(representatives_of(timeline))
        yield from tally.behaviors.states()


STRATEGIES: dict[str, Strategy] = {name: _BY_NAME[name] for name in STRATEGY_NAMES}  # their order is said there


def queue(timeline: Timeline, seed: int, names: Sequence[str] = STRATEGY_NAMES) -> Iterator[tuple[str, State]]:
    """Some strategies in turns, in their order; those that come to an end leave the others more room."""
    for _, name, state in joint_queue({0: timeline}, seed, names):
        yield name, state


def joint_queue(
    timelines: Mapping[int, Timeline],
    seed: int,
    names: Sequence[str] = STRATEGY_NAMES,
    tired: Container[int] = (),
    tallies: Mapping[int, Tally] | None = None,
) -> Iterator[tuple[int, str, State]]:
    """The same for some timelines together, by number: all have their turn of a strategy before the next one begins.

    So what is likely on any of them comes before what is exhaustive on one. Those that get `tired` leave the queue.
    `tallies` take in what is counted on the way.
    """
    kept = {number: Tally(timeline) for number, timeline in timelines.items()} if tallies is None else tallies
    each = ((name, number) for name in names for number in timelines)
    waiting = [
        (number, name, STRATEGIES[name](timelines[number], random.Random(seed), kept[number])) for name, number in each
    ]
    turn = FIRST_TURN
    while waiting:
        going_on = []
        for number, name, states in waiting:
            left = turn
            for state in islice(states, turn):
                if number in tired:
                    break
                left -= 1
                yield number, name, state
            if not left:
                going_on.append((number, name, states))
        waiting, turn = going_on, 2 * turn


def _near_each_other(timeline: Timeline, row: list[list[int]]) -> list[list[int]]:
    """Some sets of updates, in an order in which neighbours change the same objects, so that images differ little."""
    objects = timeline.updates.obj
    return sorted(row, key=lambda some: sorted((objects[update], update) for update in some))


def _calls(timeline: Timeline, point: int) -> Iterator[list[int]]:
    """The pending updates of a point, call by call."""
    for _, group in groupby(timeline.pending(point), key=lambda u: timeline.updates.event[u]):
        yield list(group)


def _occurrences(stacks: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """For each item, how many before it came from the same call stack: `FIRST_OCCURRENCES` stands for that and more."""
    order = np.argsort(stacks, kind="stable")
    ordered = stacks[order]
    before = np.zeros(len(stacks), np.int8)
    for many in range(1, FIRST_OCCURRENCES + 1):
        before[order[many:]] += ordered[many:] == ordered[:-many]
    return before


def _are_new(stacks: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which items come from a call stack that few before them came from."""
    new: npt.NDArray[np.bool_] = _occurrences(stacks) < FIRST_OCCURRENCES
    return new


def _points_by_novelty(timeline: Timeline) -> Iterator[int]:
    """All points: first those at which the program is about to do what it did at few points before."""
    points, new = _new_points(timeline)
    return one_by_one(np.concatenate((points[new], points[~new])))


def _new_points(timeline: Timeline) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """All points, and which of them lie in front of an event of a new call stack; the end counts as new."""
    points = np.array(timeline.points, np.int64)
    events = (points + 1) // 2
    stacks = np.zeros(len(points), np.uint32)
    inside = points < timeline.end
    stacks[inside] = timeline.trace.field("stack", events[inside])
    new = _are_new(stacks)
    new[points == timeline.end] = True
    return points, new


def _pending_by_novelty(timeline: Timeline) -> Iterator[tuple[int, int]]:
    """(point, update) for every pending update of every point, some twice.

    First updates of new call stacks, at the first and the last point that may lose them; then all that points in front
    of something new may lose: a rare path may be where the loss of something common matters; then all others.
    """
    yield from _new_updates(timeline)
    for point in _points_by_novelty(timeline):
        for update in timeline.pending(point):
            yield point, update


def _alike_together(timeline: Timeline, pairs: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same pairs of point and update, a turn's worth at a time by kind: a name alone brings the names before it
    along, data alone brings nothing, so that images would go back and forth between the two.
    """
    kinds = timeline.updates.kind
    while some := list(islice(pairs, FIRST_TURN)):
        yield from sorted(some, key=lambda pair: (pair[0], kinds[pair[1]], pair[1]))


def _new_updates(timeline: Timeline) -> Iterator[tuple[int, int]]:
    """Updates of new call stacks: one of every stack before a second one of any.

    Each first at the last point that may lose it, where most has come to rely on it, then at the first one.
    """
    points, guaranteed = np.array(timeline.points, np.int64), timeline.updates.guaranteed
    before = _occurrences(timeline.trace.field("stack", timeline.event))
    for occurrence in range(FIRST_OCCURRENCES):
        updates = np.flatnonzero(before == occurrence)
        first = points[np.searchsorted(points, 2 * timeline.event[updates].astype(np.int64))]
        last = points[np.searchsorted(points, timeline.guaranteed[updates]) - 1]
        twice = first != last
        for at, some in ((last, updates), (first[twice], updates[twice])):
            losses = sorted(zip(at.tolist(), some.tolist(), strict=True))
            yield from ((point, update) for point, update in losses if guaranteed[update] > point)

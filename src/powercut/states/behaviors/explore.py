"""The states of one behavior (Pathfinder, section 3.5): everything before it persisted, and of itself any closed set.

Before: the operations of a behavior. After: for each closed set of its updates (with each all that comes before it) the
state in which that set survived, and nothing of the behavior besides. What others did meanwhile survived as far as it
was issued before the last survivor and does not need what was lost. The crash comes as late as the model allows, so
that the program owes most: right before a lost update would be guaranteed.

A behavior with too many such sets falls back, in this order, and says so:

  1. all closed sets of updates;
  2. operations survive whole or not at all: all closed sets of operations;
  3. a few operations at a time, all before them persisted, with half of them the same as the time before.

The most telling of these sets can be had without the others: all but one update, one update alone, the first few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from powercut.states.behaviors.order import order_of
from powercut.states.state import NEVER, State
from powercut.states.timeline import Timeline

MOST_SETS = 1024  # closed sets of one behavior that are tried
WINDOW = 8  # operations at a time: at most 256 closed sets
TAIL = 256  # updates issued after the last survivor that a state may lose besides
MOST_SINGLE = 128  # updates that are lost or kept one by one; beyond, operations are
MOST_UPDATES = 512  # beyond, the order among all updates of a behavior costs too much


class Detail(StrEnum):
    """How closely a behavior is explored."""

    UPDATES = "updates"
    OPERATIONS = "whole operations"
    WINDOWS = "a few operations at a time"


def detail_of(timeline: Timeline, units: Sequence[Sequence[int]]) -> Detail:
    """How closely a behavior can be explored; `units` are the updates of each of its operations."""
    single = [[update] for unit in units for update in unit]
    if len(single) <= MOST_UPDATES and _has_few_sets(timeline, single):
        return Detail.UPDATES
    return Detail.OPERATIONS if _has_few_sets(timeline, units) else Detail.WINDOWS


def explore(timeline: Timeline, units: Sequence[Sequence[int]], detail: Detail) -> Iterator[State]:
    """The states of a behavior."""
    if detail is Detail.UPDATES:
        yield from _states(timeline, [[update] for unit in units for update in unit])
    elif detail is Detail.OPERATIONS:
        yield from _states(timeline, units)
    else:
        for begin in range(0, max(1, len(units) - WINDOW // 2), WINDOW // 2):
            yield from _states(timeline, units[begin : begin + WINDOW])


def with_one_lost(
    timeline: Timeline, units: Sequence[Sequence[int]], some: Collection[int] | None = None
) -> Iterator[State]:
    """The states in which all survived but one update and what comes after it: each pair that can be torn apart.

    `some`: only these updates are lost.
    """
    units = _few(units)
    everything, after = (1 << len(units)) - 1, _reverse(_order(timeline, units))
    chosen = [number for number, unit in enumerate(units) if some is None or not set(some).isdisjoint(unit)]
    return _states_of(timeline, units, [everything & ~(after[number] | 1 << number) for number in chosen])


def with_few_kept(timeline: Timeline, units: Sequence[Sequence[int]]) -> Iterator[State]:
    """The states in which one update survived, and what comes before it; and those in which the first few did."""
    units = _few(units)
    alone = [mask | 1 << number for number, mask in enumerate(_order(timeline, units))]
    return _states_of(timeline, units, [*alone, *((1 << number) - 1 for number in range(len(units) + 1))])


def _few(units: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    """Updates one by one, or whole operations where that would be too many."""
    single = [[update] for unit in units for update in unit]
    return single if len(single) <= MOST_SINGLE else units


def _has_few_sets(timeline: Timeline, units: Sequence[Sequence[int]]) -> bool:
    before = _order(timeline, units)
    if 1 << len(before) <= MOST_SETS:
        return True
    if 1 << before.count(0) > MOST_SETS:  # of those that need nothing, any may survive without the others
        return False
    sets = closed_sets(before)
    return next(islice(sets, MOST_SETS, None), None) is None


def _states(timeline: Timeline, units: Sequence[Sequence[int]]) -> Iterator[State]:
    """The states of all closed sets of some units."""
    return _states_of(timeline, units, closed_sets(_order(timeline, units)))


def _states_of(timeline: Timeline, units: Sequence[Sequence[int]], kept: Iterable[int]) -> Iterator[State]:
    """The states of some closed sets of units."""
    ends: dict[int, _End] = {}
    for mask in kept:
        end = units[mask.bit_length() - 1][-1] + 1 if mask else units[0][0]  # behind the last survivor
        if end not in ends:
            ends[end] = _end_of(timeline, end)
        state = _state_of(timeline, units, mask, end, ends[end])
        if state is not None:
            yield state


def closed_sets(before: Sequence[int]) -> Iterator[int]:
    """Every closed set of some items as a mask, the empty one first; what comes before an item has a smaller number."""
    after = _reverse(before)
    waiting = [(0, (1 << len(before)) - 1)]  # chosen, undecided
    while waiting:
        chosen, open_ = waiting.pop()
        if not open_:
            yield chosen
            continue
        lowest = open_ & -open_
        waiting.append((chosen | lowest, open_ ^ lowest))
        waiting.append((chosen, (open_ ^ lowest) & ~after[lowest.bit_length() - 1]))


def _reverse(before: Sequence[int]) -> list[int]:
    """For each item a mask of those that come after it."""
    after = [0] * len(before)
    for index, mask in enumerate(before):
        while mask:
            lowest = mask & -mask
            after[lowest.bit_length() - 1] |= 1 << index
            mask ^= lowest
    return after


def _order(timeline: Timeline, units: Sequence[Sequence[int]]) -> list[int]:
    """For each unit a mask of those that come before it: of which any update comes before any of its own."""
    if sum(map(len, units)) > MOST_UPDATES:
        units = [[*unit[:2], *unit[2:][-2:]] for unit in units]
    updates = sorted((update, number) for number, unit in enumerate(units) for update in unit)
    masks = order_of(timeline, [update for update, _ in updates])
    before = [0] * len(units)
    for (_, number), mask in zip(updates, masks, strict=True):
        while mask:
            lowest = mask & -mask
            before[number] |= 1 << updates[lowest.bit_length() - 1][1]
            mask ^= lowest
    return [mask & ~(1 << number) for number, mask in enumerate(before)]


class _End(NamedTuple):
    """What all states have in common whose last survivor is the same.

    Attributes:
        earliest, latest: the points between which the crash may come.
        soonest: when something that was issued later is guaranteed.
    """

    earliest: int
    latest: int
    soonest: int


def _end_of(timeline: Timeline, end: int) -> _End:
    issued, behind = timeline.updates.event, end + TAIL
    earliest = 2 * issued[end - 1] if end else 0
    latest = max(earliest, 2 * issued[behind] - 1 if behind < len(issued) else timeline.end)
    return _End(earliest, latest, min(timeline.updates.guaranteed[end : timeline.issued(latest)], default=NEVER))


def _state_of(timeline: Timeline, units: Sequence[Sequence[int]], kept: int, end: int, limits: _End) -> State | None:
    """The latest state in which just the kept ones of some units survived; None if one of the others had to, too."""
    lost = [u for number, unit in enumerate(units) if not kept >> number & 1 for u in unit if u < end]
    soonest = min(limits.soonest, min(map(timeline.updates.guaranteed.__getitem__, lost), default=NEVER))
    point = min(limits.latest, soonest - 1)
    if point < limits.earliest:
        return None
    return timeline.without([*lost, *range(end, timeline.issued(point))], point)

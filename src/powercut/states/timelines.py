"""The timelines of one trace under several rows, beside each other.

Before: timelines of one trace. They share its events, and number files and folders alike; updates they number alike
only where their pieces of data are the same. After: which rows leave just the same states, so that one of them is
searched for all; and for a state of one row the states of others that hold the same image.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from powercut.model.filesystem import Exposed, FileSystem, sync_alike
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind, Updates
from powercut.trace.reader import Trace

Place = tuple[int, State]  # a state of the timeline of that number
Holds = Callable[[int, State], Hashable]  # what stands for the image of a state, and for what its crash point owes

_NUMBERING = ("event", "kind", "obj", "start", "length")
_IMAGES = ("data", "fresh", "effect_folder", "effect_name", "effect_value", "effect_update", "names")
_ORDER = ("guaranteed", "first_need", "needs")


def make_timelines(trace: Trace, rows: Iterable[FileSystem]) -> list[Timeline]:
    """The timelines of a trace under some rows; those that are the same share what they hold."""
    timelines: list[Timeline] = []
    for row in rows:
        made = Timeline(trace, row)
        same = next((timeline for timeline in timelines if are_same(timeline, made)), None)
        timelines.append(made if same is None else same.under(row))
    return timelines


class Rows:
    """What the rows of a search have in common.

    Attributes:
        leaders: the timelines to search, by number: of those that are the same, the first.
    """

    def __init__(self, timelines: Sequence[Timeline], holds: Holds) -> None:
        self._timelines = timelines
        self._holds = holds
        self._leader: list[int] = []
        for number, timeline in enumerate(timelines):
            known = (leader for leader in set(self._leader) if are_same(timelines[leader], timeline))
            self._leader.append(next(known, number))
        self.leaders = sorted(set(self._leader))

    def twins(self, number: int) -> list[int]:
        """The timelines that are the same as one, itself included."""
        return [other for other, leader in enumerate(self._leader) if leader == self._leader[number]]

    def kin(self, number: int) -> int:
        """The first of the timelines that are the same as one, and stay so whatever syncs are added."""
        row = self._timelines[number].row
        return next(twin for twin in self.twins(number) if sync_alike(self._timelines[twin].row, row))

    def elsewhere(self, number: int, state: State) -> Iterator[Place]:
        """States of other timelines that hold the same image and owe the same, as far as they are known."""
        yield from ((twin, state) for twin in self.twins(number) if twin != number)
        for leader in self.leaders:
            there = None
            if leader != self._leader[number]:
                there = counterpart(self._timelines[number], state, self._timelines[leader])
            if there is not None and self._holds(leader, there) == self._holds(number, state):
                yield from ((twin, there) for twin in self.twins(leader))


def are_same(one: Timeline, other: Timeline) -> bool:
    """Whether two timelines of a trace have the same states, with the same images and the same numbers in them."""
    shows = [timeline.row.exposed is Exposed.GARBAGE for timeline in (one, other)]
    return shows[0] == shows[1] and _agree(one.updates, other.updates, (*_NUMBERING, *_ORDER, *_IMAGES))


def counterpart(of: Timeline, state: State, on: Timeline) -> State | None:
    """The state of another timeline that lacks the same, as far as its pieces allow; None if it cannot lack that."""
    lost = of.lost(state)
    if not _agree(of.updates, on.updates, _NUMBERING):
        lost = sorted({update for some in lost for update in same_change(of, some, on)})
    if any(on.is_guaranteed(update, state.point) for update in lost):
        return None
    return on.without(lost, state.point)


def same_change(of: Timeline, update: int, on: Timeline) -> list[int]:
    """The updates of another timeline that hold the change which this update makes, or a part of it."""
    here, there = of.updates, on.updates
    kind, obj, start = here.kind[update], here.obj[update], here.start[update]
    alike = (u for u in on.updates_of(here.event[update]) if there.kind[u] == kind and there.obj[u] == obj)
    if kind == UpdateKind.DATA:
        end = start + here.length[update]
        return [u for u in alike if there.start[u] < end and start < there.start[u] + there.length[u]]
    if kind == UpdateKind.SIZE:
        return [u for u in alike if there.start[u] >= start]
    return list(alike)


def _agree(one: Updates, other: Updates, columns: Sequence[str]) -> bool:
    return one is other or all(getattr(one, name) == getattr(other, name) for name in columns)

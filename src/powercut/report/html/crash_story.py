"""The story of a crash: the updates around it in the order of the program, with the syncs and outputs between them.

Before: a timeline, a state of it and the updates that tell what it is about. After: moments, those nearest to the crash
if there are many; one of them is the power cut, and what comes after it had not happened.

What survived too early may be no part of what the state is about, so the updates between that and the crash are told,
too, and a few before it, as far as there is room.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import groupby

from powercut.findings.places import Places
from powercut.quick_dataclass import dataclass
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.syncs.sites import sync_calls

_MOST_UPDATES, _MOST_BETWEEN, _MOST_BEFORE = 40, 20, 6
_MOST_PIECES = 4  # of one call
_LOOKED_AT = 10_000  # events that are searched for syncs and outputs, up to the last of the story


class Fate(StrEnum):
    """What became of a moment."""

    SURVIVED = "survived"
    LOST = "lost"
    SYNCED = "synced"
    SAID = "printed"
    CUT = "power cut"
    LATER = "not run yet"


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment: in words, and its line."""

    fate: Fate
    what: str
    place: str = ""


def updates_to_tell(timeline: Timeline, state: State, around: Sequence[int]) -> list[int]:
    """The updates of a story, in order: those that it is about, then what came between them and the crash."""
    issued = timeline.issued(state.point)
    near = set(sorted(around, key=lambda update: abs(update - issued))[:_MOST_UPDATES])
    first = max(0, min(around, default=issued) - _MOST_BEFORE)
    for update in range(issued - 1, first - 1, -1):
        if len(near) == _MOST_UPDATES:
            break
        near.add(update)
    return sorted(near)


def story(timeline: Timeline, places: Places, state: State, updates: Sequence[int]) -> list[Moment]:
    """The moments around a crash."""
    moments = [(int(timeline.event[update]), _of_update(timeline, places, state, update)) for update in updates]
    if moments:
        last = max(moments[-1][0], state.point // 2)
        moments += _between(timeline, places, state, max(moments[0][0], last - _LOOKED_AT), last + 1)
    moments.sort(key=lambda moment: moment[0])
    told = list(_abridged(moments))
    at = next((number for number, moment in enumerate(told) if moment.fate is Fate.LATER), len(told))
    some_lost = any(moment.fate is Fate.LOST for moment in told)
    words = "what is struck out was lost" if some_lost else "nothing was lost"
    return [*told[:at], Moment(Fate.CUT, words), *told[at:]]


def _abridged(moments: Iterable[tuple[int, Moment]]) -> Iterator[Moment]:
    """Moments without the middle of a long call, of which many pieces went the same way."""
    for _, group in groupby(moments, key=lambda moment: (moment[0], moment[1].fate)):
        several = [moment for _, moment in group]
        yield several[0]
        if len(several) > _MOST_PIECES:
            yield replace(several[0], what=f"… {len(several) - 2} more pieces of this call")
        else:
            yield from several[1:-1]
        yield from several[1:][-1:]


def _of_update(timeline: Timeline, places: Places, state: State, update: int) -> Moment:
    fate = Fate.SURVIVED if timeline.survives(state, update) else Fate.LOST
    if update >= timeline.issued(state.point):
        fate = Fate.LATER
    return Moment(fate, timeline.describe(update), _line(places, int(timeline.event[update])))


def _between(timeline: Timeline, places: Places, state: State, first: int, end: int) -> Iterable[tuple[int, Moment]]:
    """Syncs and outputs among some events, the ones nearest to the crash."""
    outputs = timeline.outputs[bisect_left(timeline.outputs, (first, 0)) : bisect_left(timeline.outputs, (end, 0))]
    found = [(event, Fate.SYNCED, words) for event, words in sync_calls(timeline, first, end)]
    found += [(event, Fate.SAID, places.of_output(timeline, event).what) for event, _ in outputs]
    nearest = sorted(found, key=lambda moment: abs(2 * moment[0] - state.point))[:_MOST_BETWEEN]
    for event, fate, words in nearest:
        yield event, Moment(Fate.LATER if 2 * event > state.point else fate, words, _line(places, event))


def _line(places: Places, event: int) -> str:
    return places.location(event, "", "").short

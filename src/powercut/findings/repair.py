"""Taking a known cause out of a failing state: what it lost is given back, or what it cut off is added.

Before: a failing state and a cause. After: the state as it were without this cause, for the oracle to judge. Only if it
passes then, the state belongs to the cause. So a repair gives back no more than the mistake itself took: what the
missing sync is about, and not whatever else a commit of the journal would have saved on its way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from powercut.findings.questions import Question
from powercut.model.filesystem import Datasync
from powercut.model.memory import LINE
from powercut.states.rules import ExtraSync
from powercut.states.state import NEVER, Base, State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.reader import Trace

_BEFORE_ALL = -1  # a time at which nothing is guaranteed


class Repair(Protocol):
    """How a cause is taken out of a state."""

    def __call__(self, timeline: Timeline, question: Question) -> Question:
        """The question without the cause; the same if it does not show there."""


def without_loss(timeline: Timeline, question: Question, back: Iterable[int]) -> Question:
    """A question whose state was given back some of what it lost, with all that this needs."""
    state, back = question.state, set(back)
    given = timeline.required_by(back, state.point) | back  # the former leaves out what is guaranteed by then
    lost = frozenset(update for update in timeline.lost(state) if update not in given)
    return question._replace(state=State(state.point, Base.ISSUED, lost))


def with_call(timeline: Timeline, state: State, call: int) -> State:
    """A state to which a later call was added, and of what came in between only what the call needs.

    What the state lost stays lost, even if a sync in between would have saved it: that is another mistake's matter. So
    this need not be a crash state, only something to ask about.
    """
    updates = timeline.updates_of(call)
    kept = timeline.required_by(updates, _BEFORE_ALL)
    left_out = (u for u in range(timeline.issued(state.point), updates.start) if u not in kept)
    return State(2 * call, Base.ISSUED, frozenset(timeline.lost(state)).union(left_out))


def _completed(timeline: Timeline, question: Question, calls: Iterable[int]) -> Question:
    """A question whose state holds all of some calls where it holds a part of them."""
    torn = [call for call in calls if _survived(timeline, question.state, call)]
    back = [update for call in torn for update in timeline.updates_of(call)]
    return without_loss(timeline, question, back) if back else question


class GiveBack:
    """For losses: what calls at some sites lost is given back, and what syncs of the fix are about."""

    def __init__(self, taken: Callable[[Timeline, Question], list[int]]) -> None:
        """`taken`: which of the updates that a state lost the cause took."""
        self._taken = taken

    def __call__(self, timeline: Timeline, question: Question) -> Question:
        back = self._taken(timeline, question)
        return without_loss(timeline, question, back) if back else question


class Complete:
    """For torn calls: what a call at one of the sites lost is given back where a part of it survived."""

    def __init__(self, is_lost: Callable[[Timeline, int], bool]) -> None:
        self._is_lost = is_lost

    def __call__(self, timeline: Timeline, question: Question) -> Question:
        lost = timeline.lost(question.state)
        calls = {int(timeline.event[update]) for update in lost if self._is_lost(timeline, update)}
        return _completed(timeline, question, calls)


class GoOn:
    """For cuts between two calls: where only one of them survived, or was made at all, the other one is added.

    What must happen together must do so either way round, and as a whole. A wide store is several events of one
    instruction, a copy in pieces several calls of one line: there, the second call is not the next execution of its
    kind, but a later one.
    """

    def __init__(self, first: int, second: int, parts: Sequence[int] | None, nth: int = 1) -> None:
        """The events of the two calls, and of those in between that belong to them; None: all do.

        `nth`: which execution of its kind the second call is, after the first one.
        """
        self._first = first
        self._second = second
        self._parts = parts
        self._nth = nth
        self._distinct: list[int] | None = None

    def __call__(self, timeline: Timeline, question: Question) -> Question:
        for begun in self._begun(timeline, question.state):
            ended = next_like(timeline, self._second, begun, self._nth)
            if ended is None:
                continue
            state = question.state
            if self._parts is None:
                question = _with_all(timeline, question, begun, ended)
            elif any(_survived(timeline, state, call) for call in (begun, ended)):
                for call in (begun, *_like_some(timeline, self._kinds_of_parts(timeline), begun, ended), ended):
                    if not _is_whole(timeline, question.state, call):
                        question = _with(timeline, question, call)
        # Where the second call was made without the first (of a file that was new), it is completed as well.
        lost = _events_of_lost(timeline, question.state)
        return _completed(timeline, question, _those_like(timeline, self._second, lost))

    def _kinds_of_parts(self, timeline: Timeline) -> list[int]:
        """The calls in between, each once, however often it was made."""
        if self._distinct is None:
            self._distinct = list({site_of(timeline, part): part for part in self._parts or ()}.values())
        return self._distinct

    def _begun(self, timeline: Timeline, state: State) -> list[int]:
        """Executions of the first call in which a state may lack something.

        Those after which the second one had not been made yet, and those that lost a part of any.
        """
        first, second, nth, last = self._first, self._second, self._nth, state.point // 2
        found: set[int | None] = set()
        for event in reversed(_all_like(timeline, first, last)):
            if (next_like(timeline, second, event, nth) or NEVER) <= last:
                break
            found.add(event)
        lost = _events_of_lost(timeline, state)
        found.update(_those_like(timeline, first, lost))
        for event in _those_like(timeline, second, lost) if nth > 1 or not is_like(timeline, first, second) else ():
            before = last_like(timeline, second, event, nth)
            found.add(last_like(timeline, first, before - 1) if before is not None else None)
        for part in self._kinds_of_parts(timeline):
            found.update(last_like(timeline, first, event - 1) for event in _those_like(timeline, part, lost))
        if self._parts is None and nth > 1:
            found.update(begun for event in lost if (begun := self._around(timeline, event)) is not None)
        return sorted(event for event in found if event is not None)

    def _around(self, timeline: Timeline, event: int) -> int | None:
        """The execution of the first call after which an event came, if the second one had not been made by then."""
        begun = last_like(timeline, self._first, event - 1)
        ended = next_like(timeline, self._second, begun, self._nth) if begun is not None else None
        return begun if ended is not None and event < ended else None


class SayLater:
    """For what was said before it was written: that is not said until it is written, and as durable as it will be."""

    def __init__(self, said: int, written: int) -> None:
        """The events of the output and of the call."""
        self._said = said
        self._written = written

    def __call__(self, timeline: Timeline, question: Question) -> Question:
        point = question.state.point
        early = set()
        for said in _all_like(timeline, self._said, min(point, question.output_ends) // 2):
            written = next_like(timeline, self._written, said)
            if written is not None and point < _durable(timeline, written):
                early.add(said)
        return question._replace(unsaid=question.unsaid | early) if early else question


def _like_some(timeline: Timeline, calls: Iterable[int], after: int, before: int) -> list[int]:
    """Between two events, the executions of some calls."""
    found = {event for call in calls for event in _all_like(timeline, call, before - 1) if event > after}
    return sorted(found)


def _durable(timeline: Timeline, call: int) -> int:
    """When a call is guaranteed; if it never is, when it was made."""
    times = [timeline.updates.guaranteed[update] for update in timeline.updates_of(call)]
    return 2 * call if NEVER in times else max(times)


def _is_whole(timeline: Timeline, state: State, call: int) -> bool:
    """Whether all of a call survived."""
    return all(timeline.survives(state, update) for update in timeline.updates_of(call))


def _survived(timeline: Timeline, state: State, call: int) -> bool:
    """Whether something of a call survived."""
    return any(timeline.survives(state, update) for update in timeline.updates_of(call))


def _with_all(timeline: Timeline, question: Question, first: int, last: int) -> Question:
    """A question about a state with all calls in it from one to another, if it holds something of the first."""
    state = question.state
    if not _survived(timeline, state, first):
        return question
    calls = range(timeline.updates_of(first).start, timeline.updates_of(last).stop)
    lost = [update for update in timeline.lost(state) if update not in calls]
    point, output_ends = max(state.point, 2 * last), question.output_ends
    longer = State(point, Base.ISSUED, frozenset(lost))
    return question._replace(state=longer, output_until=None if output_ends == point else output_ends)


def _with(timeline: Timeline, question: Question, call: int) -> Question:
    """A question about a state with a call in it that it lacks: given back, or, if it came later, added."""
    state = question.state
    if 2 * call <= state.point:
        return without_loss(timeline, question, timeline.updates_of(call))
    return question._replace(state=with_call(timeline, state, call), output_until=question.output_ends)


class SyncScope:
    """What some syncs are about: the content of a file, the names in a folder, a cache line.

    Not whatever else they make durable: a sync may commit a journal that everything goes through.
    """

    def __init__(self, timeline: Timeline, syncs: Iterable[ExtraSync]) -> None:
        """The syncs, by the events in front of which they return."""
        self._timeline = timeline
        self._files: defaultdict[int, list[int]] = defaultdict(list)
        self._names: defaultdict[int, list[int]] = defaultdict(list)
        self._lines: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        row = timeline.row
        for sync in sorted(syncs, key=lambda sync: sync.before):
            if sync.update >= 0:
                self._lines[sync.obj, timeline.updates.start[sync.update] // LINE].append(sync.before)
                continue
            self._files[sync.obj].append(sync.before)
            if row.sync_persists_names and (not sync.data_only or row.datasync is not Datasync.NOTHING):
                self._names[sync.obj].append(sync.before)

    def saved(self, lost: Iterable[int], point: int) -> list[int]:
        """Those of some lost updates that the syncs by a point are about."""
        return [update for update in lost if self._is_saved(update, (point + 1) // 2)]

    def _is_saved(self, update: int, by: int) -> bool:
        updates = self._timeline.updates
        event, obj = updates.event[update], updates.obj[update]
        if updates.kind[update] != UpdateKind.ENTRY:
            line = (obj, updates.start[update] // LINE)
            return _between(self._files.get(obj), event, by) or _between(self._lines.get(line), event, by)
        effects = range(updates.start[update], updates.start[update] + updates.length[update])
        return any(
            _between(self._files.get(updates.effect_folder[effect]), event, by)
            or _between(self._names.get(updates.effect_value[effect]), event, by)
            for effect in effects
        )


def _between(times: list[int] | None, after: int, by: int) -> bool:
    """Whether there is a time after one and up to another."""
    if not times:
        return False
    position = bisect_right(times, after)
    return position < len(times) and times[position] <= by


def _all_like(timeline: Timeline, event: int, by: int) -> list[int]:
    """The events up to another that are executions of the same call as one."""
    found = _like(timeline, event)
    some: list[int] = found[: int(np.searchsorted(found, by, side="right"))].tolist()
    return some


def _events_of_lost(timeline: Timeline, state: State) -> npt.NDArray[np.int64]:
    """The calls of which a state lost something, in order."""
    return np.unique(timeline.event[timeline.lost(state)]).astype(np.int64)


def _those_like(timeline: Timeline, event: int, some: npt.NDArray[np.int64]) -> list[int]:
    """Those of some events that are executions of the same call as one."""
    found = _like(timeline, event)
    at = np.minimum(np.searchsorted(found, some), len(found) - 1)
    same: list[int] = some[found[at] == some].tolist()
    return same


def last_like(timeline: Timeline, event: int, by: int, nth: int = 1) -> int | None:
    """The last event up to another that is an execution of the same call as one, or the nth from the end."""
    found = _like(timeline, event)
    position = int(np.searchsorted(found, by, side="right")) - nth
    return int(found[position]) if position >= 0 else None


def next_like(timeline: Timeline, event: int, after: int, nth: int = 1) -> int | None:
    """The next event after another that is an execution of the same call as one, or the nth of them."""
    found = _like(timeline, event)
    position = int(np.searchsorted(found, after, side="right")) + nth - 1
    return int(found[position]) if position < len(found) else None


def executions_between(timeline: Timeline, first: int, second: int) -> int:
    """Which execution of its call a second event is after a first one: 1 if it is the next, or before that one."""
    found = _like(timeline, second)
    after, at = np.searchsorted(found, [first, second], side="right").tolist()
    return int(max(1, at - after))


def site_of(timeline: Timeline, event: int) -> tuple[int, int]:
    """What stands for a call and its other executions: its call stack, or, without one, the event; and its kind."""
    events = timeline.trace.events
    return int(events["stack"][event]) or -1 - event, int(events["kind"][event])


def is_like(timeline: Timeline, event: int, other: int) -> bool:
    """Whether two events are executions of one call."""
    return site_of(timeline, event) == site_of(timeline, other)


_LIKE: WeakKeyDictionary[Trace, dict[tuple[int, int], npt.NDArray[np.int64]]] = WeakKeyDictionary()


def _like(timeline: Timeline, event: int) -> npt.NDArray[np.int64]:
    """The executions of the call that an event is."""
    site = stack, kind = site_of(timeline, event)
    known = _LIKE.setdefault(timeline.trace, {})
    if stack < 0:
        return np.array([event])
    if site not in known:
        events = timeline.trace.events
        known[site] = np.flatnonzero((events["stack"] == stack) & (events["kind"] == kind))
    return known[site]

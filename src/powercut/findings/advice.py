"""What would help: a sync, another order, a transaction's range, or advice.

Before: the story of a failing state. After: a remedy whose fix says what to change. It is called verified only if that
was asked: of a sync, the model has none of the states that were seen; of another order, the check accepts every crash
between the two calls, for every execution of them that the run shows. Everything else is a suggestion.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from powercut.findings.causes import Causes, Remedy
from powercut.findings.finding import Fix, Location
from powercut.findings.places import Places
from powercut.findings.questions import Oracle, Question
from powercut.findings.repair import next_like
from powercut.findings.story import Shape, Story
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.states.timelines import Place
from powercut.trace.layout import Flag

_ATOMIC = (
    "adding a sync does not fix this. Make the change atomic (write a new file, fsync it, rename it over the old one, "
    "fsync the directory), or make recovery detect the half-finished state"
)
_ATOMIC_MEMORY = (
    "adding a flush or fence does not fix this. Make the change with one 8-byte store, or in a transaction or log, or "
    "make recovery detect the half-finished state"
)
_MOST_PAIRS = 8  # executions of two calls for which another order is tried
_MOST_BETWEEN = 16  # calls between two for which another order is tried


class Adviser:
    """Finds remedies for stories of some timelines of one trace."""

    def __init__(self, timelines: Sequence[Timeline], places: Places, oracle: Oracle, causes: Causes) -> None:
        self._timelines = timelines
        self._places = places
        self._oracle = oracle
        self._causes = causes

    def remedy(self, story: Story, locations: Sequence[Location], places: Sequence[Place]) -> Remedy:
        """What would help with a story that shows in some places."""
        if story.shape is Shape.SAID:
            return Remedy(_say_later(locations))
        inside = self._in_transaction(story)
        if inside is not None:
            return Remedy(inside)
        if story.shape is Shape.LOSS:
            return self._causes.sync(places, story, locations) or Remedy()
        return Remedy((self._swap(story) if story.shape is Shape.SPLIT else None) or Fix(self._advice(story), False))

    def _advice(self, story: Story) -> str:
        timeline = self._timelines[story.number]
        calls = [int(timeline.event[update]) for update in story.lost]
        calls += [story.partner] if story.partner is not None else []
        objs = {timeline.updates.obj[update] for call in calls for update in timeline.updates_of(call)}
        return _ATOMIC_MEMORY if objs & set(timeline.in_lines) else _ATOMIC

    # Another order

    def _swap(self, story: Story) -> Fix | None:
        """Ask whether the two calls would be safe the other way round.

        That is another program: first the later call, synced, then all that came before it, in its old order. Its
        images are no crash states of this one, so the model's order does not bind them.
        """
        timeline = self._timelines[story.number]
        if story.partner is None or not story.lost:
            return None
        later = int(timeline.event[story.lost[0]])
        first, second = (self._named(timeline, event) for event in (later, story.partner))
        if story.partner >= later or first == second:
            return None
        questions: list[Question] = []
        for earlier, end in self._pairs(timeline, story.partner, later):
            swapped = _swapped(timeline, earlier, end)
            if swapped is None:
                return None
            questions += swapped
        if not questions or any(self._oracle.fails(story.number, questions)):
            return None
        return Fix(f"do {first} first, sync it, and only then do {second}", True, "check")

    def _named(self, timeline: Timeline, event: int) -> str:
        place = self._places.location(event, "", "")
        return place.short if place.file is not None else timeline.describe_call(event)

    @staticmethod
    def _pairs(timeline: Timeline, earlier: int, later: int) -> list[tuple[int, int]]:
        """Executions of two calls, one after the other."""
        pairs = [(earlier, later)]
        while len(pairs) < _MOST_PAIRS:
            begun = next_like(timeline, earlier, pairs[-1][1])
            ended = next_like(timeline, later, begun) if begun is not None else None
            if begun is None or ended is None:
                break
            pairs.append((begun, ended))
        return pairs

    # Transactions

    def _in_transaction(self, story: Story) -> Fix | None:
        """If a store that takes part was made inside a transaction of libpmemobj: it lacks its range."""
        timeline = self._timelines[story.number]
        calls = [int(timeline.event[update]) for update in story.lost]
        calls += [story.partner] if story.partner is not None and not timeline.lost(story.state) else []
        for call in calls:
            updates = timeline.updates_of(call)
            if not updates or timeline.updates.obj[updates[0]] not in timeline.in_lines:
                continue
            if self._transaction_around(call):
                place = self._places.location(call, "", "").short
                changed = timeline.describe(updates[0])
                how = "(TX_ADD, pmemobj_tx_add_range)"
                return Fix(f"add {changed} to the transaction {how} before {place} changes it", False)
        return None

    @cached_property
    def _transaction_events(self) -> tuple[np.ndarray, np.ndarray]:
        """Events that libpmemobj's transactions caused, and whether each of them ends one."""
        events = self._timelines[0].trace.events
        stacks = np.unique(events["stack"])
        inside, ending = set(), set()
        self._places.prepare(int(stack) for stack in stacks if stack)
        for stack in stacks.tolist():
            names = {frame.function for frame in self._places.frames_of(stack)} if stack else set()
            if any(name.startswith("pmemobj_tx_") for name in names):
                inside.add(stack)
                if names & {"pmemobj_tx_commit", "pmemobj_tx_end", "pmemobj_tx_abort", "pmemobj_tx_process"}:
                    ending.add(stack)
        found = np.flatnonzero(np.isin(events["stack"], list(inside)))
        return found, np.isin(events["stack"][found], list(ending))

    def _transaction_around(self, call: int) -> bool:
        events = self._timelines[0].trace.events
        found, ends = self._transaction_events
        mine = events["tid"][found] == events["tid"][call]
        found, ends = found[mine], ends[mine]
        position = int(np.searchsorted(found, call))
        inside = position < len(found) and found[position] != call and bool(ends[position:].any())
        return inside and position > 0 and not ends[position - 1]


def _swapped(timeline: Timeline, earlier: int, later: int) -> list[Question] | None:
    """The crashes of a program that makes the later call first; None if it would not do the same in the end."""
    calls = [call for call in range(earlier, later) if timeline.updates_of(call)]
    if len(calls) > _MOST_BETWEEN or any(timeline.overlap(call, later) for call in calls):
        return None
    if any(_append_to_one_file(timeline, call, later) for call in calls):
        return None
    questions = []
    for done in range(len(calls)):
        lost = frozenset(update for call in calls[done:] for update in timeline.updates_of(call))
        if any(timeline.is_guaranteed(update, 2 * later) for update in lost):
            return None
        questions.append(Question(State(2 * later, Base.ISSUED, lost), 2 * earlier - 1))
    return questions


def _append_to_one_file(timeline: Timeline, one: int, other: int) -> bool:
    """Whether two calls append to the same file: the other way round they would write something else."""
    files = [{timeline.updates.obj[update] for update in timeline.updates_of(call)} for call in (one, other)]
    flags = timeline.trace.events["flags"][[one, other]]
    return bool(files[0] & files[1]) and bool(np.all(flags & Flag.APPEND))


def _say_later(locations: Sequence[Location]) -> Fix:
    said = next(place for place in locations if place.role == "acknowledged")
    written = next((place for place in locations if place.role == "missing"), None)
    if written is None:
        return Fix(f"write and sync it before the output at {said.short}", False)
    return Fix(f"do {written.short} first, sync it, and only then print it ({said.short})", False)

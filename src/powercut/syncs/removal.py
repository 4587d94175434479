"""One sync taken away in the model: which crash states that adds, and whether anything can rely on it at all.

Before: the timeline of a program, and the executions of one of its syncs. After: the timeline of the same run without
them, in which the same updates are guaranteed later, or never. Three questions are answered exactly:

  - Is a state *new*? It is if it lacks an update that was guaranteed with the sync.
  - What would it be with the sync? The same state with all such updates given back, which the program can be in as
    it stands. Only a state that fails while this one passes says something about the sync.
  - Can there be a new image, or a new word with an old one, at all? Only if the program changed something visible or
    said something while such an update was missing. Otherwise each new state looks like one from before the sync.

Let a new state lack *u*, whose guarantee *g* by the sync is the earliest of those that it lacks. If nothing was said
after *g*, and whatever survived of what was issued after *g* can be reached by no name, then the state looks like the
one at *g* in which the same updates were lost: that was possible with the sync, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from powercut.model.filesystem import Exposed
from powercut.states.state import NEVER, Base, State
from powercut.states.timeline import Timeline
from powercut.states.tree import ROOT
from powercut.states.updates import UpdateKind
from powercut.syncs.sites import Numbers

MOST_LOOKED_AT = 2_000_000  # updates looked at until the question is left to the oracle
MOST_FOLDERS = 100  # on the way to a name


class Removal:
    """A run without one of its syncs.

    Attributes:
        original: with it.
        timeline: without it.
        words: the times after which the oracle holds the program to more: for a check, those of what it said.
        changed: the updates that are guaranteed later, or never.
    """

    def __init__(self, original: Timeline, events: Numbers) -> None:
        self.original = original
        self.timeline = Timeline(original.trace, original.row, skip=events.tolist())
        self.words: Sequence[int] = self.timeline.prints
        self.changed: list[int] = np.flatnonzero(self.timeline.guaranteed != original.guaranteed).tolist()

    def written_out(self, state: State) -> State:
        """A state by what it lacks, which means the same whatever is guaranteed."""
        if state.base is Base.ISSUED:
            return state
        return State(state.point, Base.ISSUED, frozenset(self.timeline.lost(state)))

    def is_new(self, state: State) -> bool:
        """Whether a state (written out) is possible only without the sync."""
        guaranteed = self.original.updates.guaranteed
        return any(guaranteed[update] <= state.point for update in state.delta)

    def given_back(self, state: State) -> State:
        """The state with all that was guaranteed with the sync."""
        guaranteed = self.original.updates.guaranteed
        lost = frozenset(update for update in state.delta if guaranteed[update] > state.point)
        return State(state.point, Base.ISSUED, lost)

    def said(self, point: int) -> int:
        """How much had been said by a point."""
        return bisect_right(self.words, point)

    def before(self, state: State) -> State | None:
        """What a new state looked like before the first guarantee that it breaks; None if more was said since."""
        guaranteed = self.original.updates.guaranteed
        point = min(guaranteed[update] for update in state.delta) - 1
        if self.said(point) < self.said(state.point):
            return None
        issued = self.original.issued(point)
        return State(point, Base.ISSUED, frozenset(update for update in state.delta if update < issued))

    @property
    def leaves_something(self) -> bool:
        """Whether something that the sync made durable never becomes so without it."""
        guaranteed = self.timeline.updates.guaranteed
        return any(guaranteed[update] == NEVER for update in self.changed)

    @cached_property
    def executions(self) -> dict[int, list[int]]:
        """What each execution alone made durable in time: its guarantee -> updates."""
        found: dict[int, list[int]] = defaultdict(list)
        for update in self.changed:
            found[self.original.updates.guaranteed[update]].append(update)
        return dict(sorted(found.items()))

    def last_chance(self, update: int) -> int:
        """The last crash point at which a changed update can be lost."""
        return min(self.timeline.updates.guaranteed[update] - 1, self.timeline.end)

    @cached_property
    def can_show(self) -> bool:
        """Whether there may be a new image, or a new word with an old one."""
        looked_at = 0
        for update in self.changed:
            guarantee, last = self.original.updates.guaranteed[update], self.last_chance(update)
            if self.said(guarantee) < self.said(last):
                return True
            first, end = self.timeline.issued(guarantee), self.timeline.issued(last)
            if first == end:
                continue
            lost = self.timeline.without([update], last).delta
            looked_at += end - first + len(lost)
            if looked_at > MOST_LOOKED_AT or any(self._is_seen(other, lost) for other in range(first, end)):
                return True
        return False

    def _is_seen(self, update: int, lost: Collection[int]) -> bool:
        """Whether it shows that an update was issued, if others are lost."""
        if update not in lost:
            return not self._is_hidden(update, lost)
        # Data that never arrived can leave garbage, behind what was the end of the file and may not be after the cut
        # has been lost, too.
        updates = self.timeline.updates
        return (
            self.timeline.row.exposed is Exposed.GARBAGE
            and bool(updates.fresh[update])
            and updates.obj[update] in self._cut
            and not self._is_nameless(updates.obj[update], lost)
        )

    def _is_hidden(self, update: int, lost: Collection[int]) -> bool:
        """Whether no name leads to what an update changed, if others are lost."""
        updates = self.timeline.updates
        if updates.kind[update] != UpdateKind.ENTRY:
            return self._is_nameless(updates.obj[update], lost)
        effects = range(updates.start[update], updates.start[update] + updates.length[update])
        return all(self._is_nameless(updates.effect_folder[effect], lost) for effect in effects)

    def _is_nameless(self, obj: int, lost: Collection[int], depth: int = 0) -> bool:
        if obj == ROOT or obj in self._named_before or depth > MOST_FOLDERS:
            return False
        names = self._names.get(obj, ())
        return all(update in lost or self._is_nameless(folder, lost, depth + 1) for update, folder in names)

    @cached_property
    def _cut(self) -> set[int]:
        """The files that were truncated."""
        updates = self.timeline.updates
        return {obj for obj, kind in zip(updates.obj, updates.kind, strict=True) if kind == UpdateKind.CUT}

    @cached_property
    def _named_before(self) -> set[int]:
        """What had a name when the program started."""
        return {obj for names in self.timeline.tree.base.values() for obj in names.values()}

    @cached_property
    def _names(self) -> dict[int, list[tuple[int, int]]]:
        """Object -> the updates that gave it a name, and the folder of each."""
        updates = self.timeline.updates
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        effects = zip(updates.effect_update, updates.effect_folder, updates.effect_value, strict=True)
        for update, folder, value in effects:
            if value >= 0:
                found[value].append((update, folder))
        return found

"""The timeline: all updates of a trace under one model, and what can be asked about them at a crash point.

Before: the `Updates` that the rules made. After: for every crash point the issued, guaranteed and pending updates; for
every update what it needs and what needs it. A set of updates is a crash state at a point if it holds all guaranteed
ones, only issued ones, and with each update everything that update needs.

A timeline does not change once it is built, so that workers share it by fork.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence, Set
from copy import copy
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.arrays import distinct
from powercut.model.filesystem import Exposed, FileSystem
from powercut.model.memory import EADR, PX86
from powercut.printable import counted
from powercut.states.content_index import ContentIndex
from powercut.states.objects import Changes
from powercut.states.outputs import Words
from powercut.states.rules import ExtraSync, Rules
from powercut.states.set_hash import MarkSums
from powercut.states.state import NEVER, Base, State
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Channel, Kind
from powercut.trace.reader import Trace

Numbers = npt.NDArray[np.int64]
_START = State(0, Base.GUARANTEED, frozenset())  # before the program did anything
_MOST_PARTS = 3  # of a call that are put into words


class Timeline:
    """Updates, order and guarantees of one trace under one file-system row."""

    def __init__(
        self, trace: Trace, row: FileSystem, extra: Iterable[ExtraSync] = (), skip: Iterable[int] = ()
    ) -> None:
        rules = Rules(trace, row, extra, skip)
        self.trace = trace
        self.row = row
        self.updates = rules.apply()
        trace.let_go()
        self.tree = rules.tree
        self.notes = rules.notes
        self.subjects = rules.subjects
        self.in_lines = rules.in_lines  # files whose data persist by cache lines, not by blocks
        self.end = 2 * len(trace.events)
        self.event = np.frombuffer(self.updates.event, np.int32) if len(self.updates) else np.empty(0, np.int32)
        self.guaranteed: Numbers = (
            np.frombuffer(self.updates.guaranteed, np.int64) if len(self.updates) else np.empty(0, np.int64)
        )
        # When something is guaranteed, and how much by then. Plain arrays, because numpy's overhead would be many
        # times the work of a single look-up.
        times, counts = np.unique(self.guaranteed, return_counts=True)
        self._guarantee_times = array("q", times.tobytes())
        self._guaranteed_by = array("q", np.append(0, np.cumsum(counts)).tobytes())
        self._last_survivors: tuple[tuple[State, _engine.Survivors], ...] = ()  # of two states: images are compared

    def under(self, row: FileSystem) -> Timeline:
        """The same timeline as that of another row, which makes the same of the trace."""
        made = copy(self)
        made.row = row
        return made

    @property
    def label(self) -> str:
        """The model's name for people: the file system, and the memory where the program stores to it."""
        if not self.in_lines:
            return self.row.name
        return f"{self.row.name}+{EADR.name if self.row.memory is EADR else PX86.name}"

    # Sets of updates

    def issued(self, point: int) -> int:
        """How many updates were issued by a point: those with smaller numbers."""
        return bisect_right(self.updates.event, point // 2)

    def is_guaranteed(self, update: int, point: int) -> bool:
        """Whether an update could no longer be lost at a point."""
        return self.updates.guaranteed[update] <= point

    def pending(self, point: int) -> list[int]:
        """Updates issued and not yet guaranteed at a point, in order."""
        low, high = int(np.searchsorted(self._latest_so_far, point, side="right")), self.issued(point)
        early = self._never[: int(np.searchsorted(self._never, min(low, high)))]
        late = np.flatnonzero(self.guaranteed[low:high] > point) + low
        found: list[int] = np.concatenate((early, late)).tolist()
        return found

    def count_pending(self, point: int) -> int:
        """How many updates are pending: what is guaranteed by a point was issued by then."""
        return self.issued(point) - self._count_guaranteed(point)

    def _count_guaranteed(self, point: int) -> int:
        return self._guaranteed_by[bisect_right(self._guarantee_times, point)]

    @cached_property
    def _never(self) -> Numbers:
        """Updates that are never guaranteed: one of them at the start must not make every search for others long."""
        return np.flatnonzero(self.guaranteed == NEVER)

    @cached_property
    def _latest_so_far(self) -> Numbers:
        """For each update the latest guarantee of it and those before it, of those that have one."""
        return np.maximum.accumulate(np.where(self.guaranteed == NEVER, -1, self.guaranteed))

    @cached_property
    def _guarantee_order(self) -> npt.NDArray[np.int32]:
        """All updates, those first that were guaranteed first."""
        return np.argsort(self.guaranteed, kind="stable").astype(np.int32)

    def survives(self, state: State, update: int) -> bool:
        """Whether an update is part of a state."""
        if 2 * self.updates.event[update] > state.point:
            return False
        if state.base is Base.ISSUED:
            return update not in state.delta
        return self.updates.guaranteed[update] <= state.point or update in state.delta

    def lost(self, state: State) -> list[int]:
        """Issued updates that a state lacks."""
        if state.base is Base.ISSUED:
            return sorted(state.delta)
        return [u for u in self.pending(state.point) if u not in state.delta]

    def kept(self, state: State) -> list[int]:
        """Updates of a state that were not yet guaranteed."""
        if state.base is Base.GUARANTEED:
            return sorted(state.delta)
        return [u for u in self.pending(state.point) if u not in state.delta]

    def identity(self, state: State) -> tuple[int, int]:
        """The same for two ways to write one state: the crash point that covers it and a hash of what was kept."""
        kept = _engine.mark_set(state.delta)
        if state.base is Base.ISSUED:
            sure = self._count_guaranteed(state.point)
            kept ^= self._issue_marks.of_first(self.issued(state.point)) ^ self._guarantee_marks.of_first(sure)
        return bisect_left(self.points, state.point), kept

    def latest_output(self, state: State) -> int | None:
        """The crash point that covers a state, if the program has printed more by then; otherwise None.

        States at both are one by their identity, so the one that owes less must not stand for the other.
        """
        point = self.points[bisect_left(self.points, state.point)]
        return None if bisect_right(self.prints, point) == bisect_right(self.prints, state.point) else point

    def with_latest_output(self, state: State) -> State:
        """The same updates kept at the crash point that covers them, where the program may have printed more since."""
        point = self.latest_output(state)
        if point is None:
            return state
        later = range(self.issued(state.point), self.issued(point)) if state.base is Base.ISSUED else ()
        return State(point, state.base, state.delta.union(later))

    @cached_property
    def _issue_marks(self) -> MarkSums:
        """Marks of the first so many updates."""
        return MarkSums(range(len(self.updates)))

    @cached_property
    def _guarantee_marks(self) -> MarkSums:
        """Marks of the so many updates that were guaranteed first."""
        return MarkSums(self._guarantee_order)

    # Order

    def needs(self, update: int) -> Sequence[int]:
        """What must have persisted for an update to persist (direct)."""
        return self.updates.needs_of(update)

    @cached_property
    def _needed_by(self) -> tuple[Numbers, npt.NDArray[np.int32]]:
        """Where the users of each update begin, and all users."""
        needs = np.frombuffer(self.updates.needs, np.int32) if len(self.updates.needs) else np.empty(0, np.int32)
        starts = np.zeros(len(self.updates) + 1, np.int64)
        np.cumsum(np.bincount(needs, minlength=len(self.updates)), out=starts[1:])
        order = np.argsort(needs, kind="stable")
        counts = np.diff(np.frombuffer(self.updates.first_need, np.int64)).astype(np.int32)
        users = np.repeat(np.arange(len(self.updates), dtype=np.int32), counts)
        return starts, users[order]

    def users(self, update: int) -> Sequence[int]:
        """What never persists without an update (direct)."""
        starts, users = self._needed_by
        found: list[int] = users[starts[update] : starts[update + 1]].tolist()
        return found

    def required_by(self, updates: Iterable[int], point: int) -> set[int]:
        """Updates that must survive with some, themselves included, leaving out what is guaranteed."""
        return set(self.with_only(updates, point).delta)

    def lost_with(self, updates: Iterable[int], point: int) -> set[int]:
        """Updates that must be lost with some, themselves included, among those issued."""
        return set(self.without(updates, point).delta)

    def without(self, updates: Iterable[int], point: int) -> State:
        """The state in which some updates and all that need them are lost."""
        lost = _engine.losses(*self._needed_by, updates, self.issued(point))
        return State(point, Base.ISSUED, lost)

    def with_only(self, updates: Iterable[int], point: int) -> State:
        """The state in which only some updates and all they need survived, beside what is guaranteed."""
        columns = self.updates
        kept = _engine.requirements(columns.first_need, columns.needs, columns.guaranteed, updates, point)
        return State(point, Base.GUARANTEED, kept)

    def roots(self, lost: Sequence[int]) -> list[int]:
        """Those of some lost updates that are not merely lost because another one is."""
        gone = set(lost)
        return [update for update in lost if not gone.intersection(self.needs(update))] or list(lost)

    def is_possible(self, state: State) -> bool:
        """Whether the model allows a state."""
        issued = self.issued(state.point)
        if any(u >= issued or self.updates.guaranteed[u] <= state.point for u in state.delta):
            return False
        if state.base is Base.ISSUED:
            return self.lost_with(state.delta, state.point) == state.delta
        return self.required_by(state.delta, state.point) == state.delta

    # Time

    @cached_property
    def outputs(self) -> list[tuple[int, int]]:
        """(event, channel) of everything the program printed or sent."""
        indices = self.trace.of_kind(Kind.OUTPUT)
        return list(zip(indices.tolist(), self.trace.at("extra", indices).tolist(), strict=True))

    @cached_property
    def prints(self) -> list[int]:
        """The times at which the program printed something or sent it over a socket."""
        return [2 * index for index, channel in self.outputs if channel in (Channel.STDOUT, Channel.SOCKET)]

    @cached_property
    def _printed(self) -> Words:
        return Words(self.trace, [index for index, channel in self.outputs if channel == Channel.STDOUT])

    @cached_property
    def _sent(self) -> Words:
        return Words(self.trace, [index for index, channel in self.outputs if channel == Channel.SOCKET])

    def acked(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        """What the program had printed by a point, but for some events."""
        return self._printed.by(point, unsaid)

    def sent(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        """What the program had sent over sockets by a point, one message after the other, but for some events."""
        return self._sent.by(point, unsaid)

    def happenings(self, first: int, last: int) -> list[int]:
        """Times from `first` on and before `last` at which something was issued or printed."""
        said = np.fromiter((index for index, _ in self.outputs), np.int64)
        times = 2 * np.union1d(self.event.astype(np.int64), said)
        found: list[int] = times[(times >= first) & (times < last)].tolist()
        return found

    def calls(self, first: int, last: int) -> list[int]:
        """Times from `first` on and before `last` at which something was issued."""
        found: list[int] = (2 * distinct(self.event.astype(np.int64))).tolist()
        return found[bisect_left(found, first) : bisect_left(found, last)]

    @cached_property
    def points(self) -> Sequence[int]:
        """The crash points that matter, in order.

        Between two guarantees the possible states only grow, so the last moment before each guarantee shows them
        all; what the program had printed by then is what it owed, so the last moment before each output counts, too.
        Of points with nothing but words in between the last one counts: it owes more.
        """
        guarantees = np.frombuffer(self._guarantee_times, np.int64)
        says = np.array([2 * index for index, _ in self.outputs], np.int64)
        points = distinct(np.append(np.append(guarantees[guarantees <= self.end], says) - 1, self.end))
        points = points[points >= 0]
        issued = np.searchsorted(self.event, points // 2, side="right")
        sure = np.searchsorted(guarantees, points, side="right")
        last = np.append((np.diff(issued) != 0) | (np.diff(sure) != 0), True)
        return array("q", points[last].tobytes())

    # Images

    @cached_property
    def index(self) -> ContentIndex:
        """Where each name, block and size of an image comes from."""
        return ContentIndex(self.trace, self.updates, self.tree, garbage=self.row.exposed is Exposed.GARBAGE)

    def survivors(self, state: State) -> _engine.Survivors:
        """The updates of a state, for look-ups in C."""
        for known, survivors in self._last_survivors:
            if known is state:
                return survivors
        kept = state.base is Base.GUARANTEED
        made = _engine.Survivors(self.index.history, state.point, self.issued(state.point), kept, state.delta)
        self._last_survivors = (self._last_survivors[-1], (state, made)) if self._last_survivors else ((state, made),)
        return made

    def changes(self, before: State | None, after: State) -> Changes:
        """Where the images of two states may differ; before None, all that `after` holds counts as new."""
        if before is None:
            return self.index.everything()
        return self.index.touched(self.differing(before, after))

    def changes_from(self, other: Timeline, before: State, after: State) -> Changes:
        """The same for `before` on another row of the same trace: both states may differ where they left the start."""
        old, new = other.changes(_START, before), self.changes(_START, after)
        for file, blocks in old.blocks.items():
            more = new.blocks.get(file, set())
            new.blocks[file] = None if blocks is None or more is None else more | blocks
        return Changes(new.entries | old.entries, new.blocks, new.meta | old.meta)

    def differing(self, before: State, after: State) -> Collection[int]:
        """Updates that survive in one of two states and not in the other."""
        if before.point == after.point and before.base is after.base:
            return before.delta ^ after.delta
        issued, others = self._base_difference(before, after)
        if not before.delta and not after.delta and not others:
            return issued
        packed = self.survivors(before).differing(self.survivors(after), issued.start, issued.stop, others)
        return memoryview(packed).cast("i")

    def _base_difference(self, before: State, after: State) -> tuple[range, Iterable[int]]:
        """Updates that may survive in one of two states only, whatever their deltas: a range, and others, some twice.

        Others are no set: there may be as many as a long trace has updates.
        """
        issued = range(*sorted((self.issued(before.point), self.issued(after.point))))
        if before.base is after.base is Base.ISSUED:
            return issued, ()
        guaranteed = self._guaranteed_between(before.point, after.point)
        if before.base is after.base:
            return range(0), guaranteed
        return issued, chain(self.pending(before.point), self.pending(after.point), guaranteed)

    def _guaranteed_between(self, one: int, other: int) -> list[int]:
        low, high = sorted((one, other))
        first, last = self._count_guaranteed(low), self._count_guaranteed(high)
        found: list[int] = self._guarantee_order[first:last].tolist()
        return found

    def overlap(self, one: int, other: int) -> bool:
        """Whether two calls change the same bytes, sizes cut off, or names: whether their order matters in the end."""
        return any(self._overlap(a, b) for a in self.updates_of(one) for b in self.updates_of(other))

    def _overlap(self, one: int, other: int) -> bool:
        updates, kinds = self.updates, {self.kind(one), self.kind(other)}
        if updates.obj[one] == updates.obj[other] and UpdateKind.ENTRY in kinds:
            return True  # the program reaches a file by its name
        if kinds == {UpdateKind.ENTRY}:
            mine, theirs = self.index.touched([one]).entries, self.index.touched([other]).entries
            return bool(mine & theirs)
        if updates.obj[one] != updates.obj[other]:
            return False
        if kinds == {UpdateKind.DATA}:
            ends = [updates.start[u] + updates.length[u] for u in (one, other)]
            return updates.start[one] < ends[1] and updates.start[other] < ends[0]
        return bool(kinds & {UpdateKind.CUT, UpdateKind.ZERO, UpdateKind.MODE, UpdateKind.XATTR})

    # Words for people

    def describe(self, update: int) -> str:
        """One update in words."""
        return self.index.describe(update)

    def describe_call(self, event: int) -> str:
        """What a call did, in words: a write or a rename as a whole, everything else by its first update."""
        first, kind = bisect_left(self.updates.event, event), int(self.trace.events["kind"][event])
        if kind == Kind.WRITE:
            size, offset = (int(self.trace.events[field][event]) for field in ("length", "offset"))
            where = f" at offset {offset:,}" if offset else ""
            name = self.index.path_of(self.updates.obj[first], at=first).decode("utf-8", "replace")
            return f"the write of {counted(size, 'byte')}{where} to {name}"
        if kind == Kind.RENAME and len(updates := self.updates_of(event)) == 2:  # a row can lose one half of it
            new, old = (self.describe(update).partition(" name ")[2] for update in updates)
            return f"the rename of {old} to {new}"
        return self.describe(first)

    def describe_part(self, updates: Sequence[int]) -> str:
        """Some updates of one call in words: pieces of data together, each other update for itself, a few at most."""
        data = [update for update in updates if self.kind(update) is UpdateKind.DATA]
        others = [update for update in updates if self.kind(update) is not UpdateKind.DATA]
        chosen = [update for update in others if self.kind(update) is not UpdateKind.FILL]  # of which no user knows
        words = [self.describe(update) for update in (chosen if chosen or data else others)]
        if data:
            ends = [self.updates.start[update] + self.updates.length[update] for update in data]
            start = min(self.updates.start[update] for update in data)
            name = self.index.path_of(self.updates.obj[data[0]], at=data[0]).decode("utf-8", "replace")
            some = "" if max(ends) - start == sum(self.updates.length[update] for update in data) else "some of "
            words.insert(0, f"{some}bytes {start:,} to {max(ends):,} of {name}")
        return " and ".join(words[:_MOST_PARTS])

    def updates_of(self, event: int) -> range:
        """The updates that an event issued."""
        return range(bisect_left(self.updates.event, event), bisect_left(self.updates.event, event + 1))

    def kind(self, update: int) -> UpdateKind:
        """What an update changes."""
        return UpdateKind(self.updates.kind[update])

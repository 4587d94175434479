"""Proposing a fix and trying it in the model.

A fix is one more sync: fsync or msync for files, a flush and a fence (or the fence that a flush lacks) for persistent
memory. It belongs in front of the call that must not come first, at every execution of that call; or, where that does
not help for all that was seen, right after the call whose change is lost. It holds if, on every row on which the
mistake shows, the timeline with these syncs allows none of the failing states that were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from powercut.findings.finding import AddedSync, Location
from powercut.model.memory import LINE
from powercut.quick_dataclass import dataclass
from powercut.states.rules import ExtraSync
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.states.timelines import same_change
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Kind

CONTENT = (UpdateKind.DATA, UpdateKind.FILL, UpdateKind.SIZE, UpdateKind.CUT, UpdateKind.ZERO)
_MOST_LOST = 200  # lost updates for which a proposal is made

Shown = Sequence[tuple[int, Timeline, State]]  # what shows a mistake: states of timelines, with their numbers


@dataclass(frozen=True, slots=True)
class Proposal:
    """Syncs to add, and what they are called at the place of the finding.

    Attributes:
        after: they follow the lost call; otherwise they come in front of the call that must not come first.
        source: the timeline whose numbers of updates they hold.
        added: the same for the tracer.
    """

    syncs: tuple[ExtraSync, ...]
    calls: tuple[str, ...]
    after: bool
    source: Timeline = field(compare=False)
    added: tuple[AddedSync, ...] = field(compare=False, default=())

    def text(self, where: Sequence[Location]) -> str:
        """What to call, and where: `where` are the lines of what was lost and, at last, of what must not come first."""
        place = f"right after {where[0].named}" if self.after else f"before {where[-1].named}"
        return f"call {' and '.join(self.calls)} {place}"

    def on(self, timeline: Timeline) -> Timeline:
        """A timeline of the same trace with these syncs in it."""
        return Timeline(timeline.trace, timeline.row, self.syncs_on(timeline))

    def syncs_on(self, timeline: Timeline) -> Iterator[ExtraSync]:
        """These syncs with the numbers of another timeline of the same trace."""
        for sync in self.syncs:
            if sync.update < 0 or timeline is self.source:
                yield sync
            else:
                yield from (replace(sync, update=update) for update in same_change(self.source, sync.update, timeline))


def propose(shown: Shown, before: int, look_at_the_clock: Callable[[], None]) -> Iterator[Proposal]:
    """Proposals for states that show one mistake, the smallest ones first.

    First in front of the event `before`, then right after what was lost.
    """
    for at in (before, None):
        proposals = [list(_candidates(timeline, state, at, look_at_the_clock)) for _, timeline, state in shown]
        ordered = dict.fromkeys(proposal for some in proposals for proposal in some)
        if len(ordered) > 1 and len(shown) > 1:
            ordered[_together([some[-1] for some in proposals if some])] = None
        yield from ordered


def tried(proposal: Proposal, shown: Shown, look_at_the_clock: Callable[[], None]) -> dict[int, Timeline] | None:
    """The timelines that a proposal leads to; None if one of them still allows its state."""
    fixed: dict[int, Timeline] = {}
    for number, timeline, state in shown:
        if number not in fixed:
            look_at_the_clock()
            fixed[number] = proposal.on(timeline)
        if fixed[number].is_possible(state):
            return None
    return fixed


def _candidates(
    timeline: Timeline, state: State, at: int | None, look_at_the_clock: Callable[[], None]
) -> Iterator[Proposal]:
    """Of one timeline: first for the roots, as what was lost only because they were returns with them, then for all."""
    lost = timeline.lost(state)
    roots = timeline.roots(lost)
    if len(roots) > _MOST_LOST:
        return
    look_at_the_clock()
    yield from _proposals(timeline, roots, at)
    if set(lost) != set(roots) and len(lost) <= _MOST_LOST:
        look_at_the_clock()
        yield from _proposals(timeline, lost, at)


def _together(proposals: list[Proposal]) -> Proposal:
    """What several states need, for all of them; of syncs of single lines, whose numbers are a row's, the first's."""
    first, *others = proposals
    more = [sync for other in others for sync in other.syncs if sync.update < 0]
    calls = dict.fromkeys(call for proposal in proposals for call in proposal.calls)
    added = dict.fromkeys(sync for proposal in proposals for sync in proposal.added)
    return Proposal(tuple(dict.fromkeys([*first.syncs, *more])), tuple(calls), first.after, first.source, tuple(added))


def _proposals(timeline: Timeline, lost: list[int], at: int | None) -> Iterator[Proposal]:
    lines = [u for u in lost if timeline.updates.obj[u] in timeline.in_lines and timeline.kind(u) is UpdateKind.DATA]
    if lines:
        yield _flushes(timeline, lines, at)
        lost = sorted(set(lost).difference(lines))
    files = [u for u in lost if timeline.kind(u) in CONTENT]
    names = [u for u in lost if timeline.kind(u) is UpdateKind.ENTRY]
    others = [u for u in lost if u not in files and u not in names]
    if files:
        yield _proposal(timeline, [(u, True) for u in files], [], at)
        yield _proposal(timeline, [(u, False) for u in files], [], at)
    if others:
        yield _proposal(timeline, [(u, False) for u in others], [], at)
    if names and at is not None and all(_is_unsynced_file(timeline, name, at) for name in names):
        yield _proposal(timeline, [(name, False) for name in names], [], at)  # for the name and for what it holds
    if names:
        yield _proposal(timeline, [], names, at)
    if (files or others) and names:
        yield _proposal(timeline, [(u, False) for u in files + others], names, at)


def _is_unsynced_file(timeline: Timeline, name: int, at: int) -> bool:
    """Whether a name is that of a new file of which something else is not durable either when an event comes.

    Then one sync of the file is missing, not that of its folder, wherever the file system persists names with files.
    """
    if timeline.trace.events["kind"][timeline.event[name]] != Kind.CREATE:
        return False
    same = np.frombuffer(timeline.updates.obj, np.int32)[: timeline.issued(2 * at - 1)] == timeline.updates.obj[name]
    return any(
        timeline.kind(update) in CONTENT and not timeline.is_guaranteed(update, 2 * at - 1)
        for update in np.flatnonzero(same).tolist()
    )


def _proposal(timeline: Timeline, contents: list[tuple[int, bool]], names: list[int], at: int | None) -> Proposal:
    """Syncs of the objects behind some lost updates, at every call like the one that they belong to."""
    syncs: dict[ExtraSync, None] = {}
    calls: dict[str, None] = {}
    added: dict[AddedSync, None] = {}
    for update, data_only in contents:
        obj = timeline.updates.obj[update]
        name = timeline.index.path_of(obj, at=update).decode("utf-8", "replace")
        calls[f"{_sync_call(timeline, update, data_only)}({name})"] = None
        added[_added("data" if data_only else "file", timeline, update, at)] = None
    for update in names:
        for folder in _folders(timeline, update):
            path = timeline.index.path_of(folder).decode("utf-8", "replace") or "the data folder"
            calls[f"fsync on the directory ({path})"] = None
        added[_added("directory", timeline, update, at)] = None
    for update, data_only in _distinct(timeline, contents):
        for event, like in _executions(timeline, update, at):
            syncs[ExtraSync(event, timeline.updates.obj[like], data_only)] = None
    for update, _ in _distinct(timeline, [(name, False) for name in names]):
        for event, like in _executions(timeline, update, at):
            for folder in _folders(timeline, like):
                syncs[ExtraSync(event, folder)] = None
    return Proposal(tuple(syncs), tuple(calls), at is None, timeline, tuple(added))


def _added(what: str, timeline: Timeline, update: int, at: int | None) -> AddedSync:
    of = int(timeline.event[update])
    return AddedSync(what, of, of if at is None else at, at is None)


def _distinct(timeline: Timeline, updates: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """One update of each call site and kind: its executions are those of the others."""
    stacks = timeline.trace.events["stack"]
    found: dict[tuple[int, int, bool], tuple[int, bool]] = {}
    for update, data_only in updates:
        stack = int(stacks[timeline.event[update]])
        found.setdefault((stack or -1 - update, timeline.updates.kind[update], data_only), (update, data_only))
    return list(found.values())


def _sync_call(timeline: Timeline, update: int, data_only: bool) -> str:
    if data_only and timeline.trace.events["kind"][timeline.event[update]] == Kind.STORE:
        return "msync"
    return "fdatasync" if data_only else "fsync"


def _flushes(timeline: Timeline, lost: list[int], at: int | None) -> Proposal:
    """Flushes of the lines of lost stores, as far as they are missing, and a fence."""
    syncs = {
        ExtraSync(event, timeline.updates.obj[like], True, like): None
        for update, _ in _distinct(timeline, [(update, True) for update in lost])
        for event, like in _executions(timeline, update, at)
    }
    by = max(int(timeline.event[update]) for update in lost) + 1 if at is None else at
    unflushed = [update for update in lost if not _is_flushed(timeline, update, by)]
    calls = [f"clwb of {text}" for text in _ranges(timeline, unflushed)]
    added = dict.fromkeys(_added("lines", timeline, update, at) for update in lost)
    return Proposal(tuple(syncs), (*calls, "sfence"), at is None, timeline, tuple(added))


def _is_flushed(timeline: Timeline, update: int, before: int) -> bool:
    """Whether the line of a store is flushed between it and an event: then only the fence is missing."""
    event = int(timeline.event[update])
    between = timeline.trace.events[event:before]
    flushes = between[(between["kind"] == Kind.FLUSH) & (between["inode"] == timeline.trace.events["inode"][event])]
    return bool((flushes["offset"] // LINE == timeline.updates.start[update] // LINE).any())


def _ranges(timeline: Timeline, updates: list[int]) -> list[str]:
    """The bytes of some stores, neighbours together, in words."""
    columns = timeline.updates
    found: list[tuple[int, int, int]] = []
    for obj, start, length in sorted((columns.obj[u], columns.start[u], columns.length[u]) for u in updates):
        if found and found[-1][0] == obj and found[-1][2] // LINE >= start // LINE - 1:
            found[-1] = (obj, found[-1][1], max(found[-1][2], start + length))
        else:
            found.append((obj, start, start + length))
    names = {obj: timeline.index.path_of(obj).decode("utf-8", "replace") for obj, _, _ in found}
    return [f"bytes {start:,} to {end:,} of {names[obj]}" for obj, start, end in found]


def _folders(timeline: Timeline, update: int) -> set[int]:
    """The folders to sync for a change of names: where a name appeared, or else where one went."""
    updates = timeline.updates
    effects = range(updates.start[update], updates.start[update] + updates.length[update])
    gained = {updates.effect_folder[e] for e in effects if updates.effect_value[e] >= 0}
    return gained or {updates.effect_folder[e] for e in effects}


def _executions(timeline: Timeline, update: int, at: int | None) -> list[tuple[int, int]]:
    """(event, update) for each sync that a fix makes: the event in front of which it returns, and what it is for.

    That is every update like this one, and the next execution of the call at `at`, or else right after the update. The
    same line of the program is the same call stack; without stacks only the one execution is known.
    """
    events = timeline.trace.events
    stacks, kinds = events["stack"], np.frombuffer(timeline.updates.kind, np.int8)
    stack = int(stacks[timeline.event[update]])
    same = (stacks[timeline.event] == stack) & (kinds == kinds[update])
    alike = np.flatnonzero(same) if stack else np.array([update])
    if at is None:
        return [(int(timeline.event[u]) + 1, int(u)) for u in alike]
    if not stacks[at]:
        return [(at, update)]
    places = np.flatnonzero((stacks == stacks[at]) & (events["kind"] == events["kind"][at]))
    following = np.searchsorted(places, timeline.event[alike], side="right")
    return [(int(places[p]), int(u)) for u, p in zip(alike, following, strict=True) if p < len(places)]

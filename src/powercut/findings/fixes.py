"""Proposing a fix and trying it in the model.

A fix is one more sync in front of the call that must not come first, at every execution of that call: fsync or msync
for files, a flush and a fence (or the fence that a flush lacks) for persistent memory. It is verified if, on every row
on which the mistake shows, the timeline with these syncs no longer allows the failing state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from powercut.findings.patience import Over
from powercut.model.memory import LINE
from powercut.states.rows import same_change
from powercut.states.rules import ExtraSync
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Kind

_MOST_LOST = 200  # lost updates for which a proposal is made
_CONTENT = (UpdateKind.DATA, UpdateKind.FILL, UpdateKind.SIZE, UpdateKind.CUT, UpdateKind.ZERO)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Syncs to add, and what they are called at the place of the finding.

    Attributes:
        source: the timeline whose numbers of updates they hold.
    """

    syncs: tuple[ExtraSync, ...]
    calls: tuple[str, ...]
    source: Timeline = field(compare=False)

    def on(self, timeline: Timeline) -> Timeline:
        """A timeline of the same trace with these syncs in it."""
        syncs = (there for sync in self.syncs for there in self._there(sync, timeline))
        return Timeline(timeline.trace, timeline.row, syncs)

    def _there(self, sync: ExtraSync, timeline: Timeline) -> Iterator[ExtraSync]:
        if sync.update < 0 or timeline is self.source:
            yield sync
        else:
            yield from (replace(sync, update=update) for update in same_change(self.source, sync.update, timeline))


Shown = Sequence[tuple[int, Timeline, State]]  # what shows a mistake: states of timelines, with their numbers


def propose(shown: Shown, before: int, over: Over) -> tuple[Proposal, dict[int, Timeline]] | None:
    """The smallest proposal that makes all states impossible, with the timelines that it leads to.

    If there is none, the first one and no timelines; None if there is nothing to sync. Trying one takes as long as
    making a timeline; when it is over, no more are tried.
    """
    proposals = [list(_candidates(timeline, state, before)) for _, timeline, state in shown]
    ordered = dict.fromkeys(proposal for some in proposals for proposal in some)
    if len(ordered) > 1 and len(shown) > 1:
        ordered[_together([some[-1] for some in proposals if some])] = None
    for proposal in ordered:
        if over():
            break
        fixed = _tried(proposal, shown)
        if fixed is not None:
            return proposal, fixed
    return next(((proposal, {}) for proposal in ordered), None)


def _tried(proposal: Proposal, shown: Shown) -> dict[int, Timeline] | None:
    """The timelines that a proposal leads to; None if one of them still allows its state."""
    fixed: dict[int, Timeline] = {}
    for number, timeline, state in shown:
        if number not in fixed:
            fixed[number] = proposal.on(timeline)
        if fixed[number].is_possible(state):
            return None
    return fixed


def _candidates(timeline: Timeline, state: State, before: int) -> Iterator[Proposal]:
    """Of one timeline: first for the roots, as what was lost only because they were returns with them, then for all."""
    lost = timeline.lost(state)
    roots = roots_of(timeline, lost)
    yield from _proposals(timeline, roots, before)
    if set(lost) != set(roots) and len(lost) <= _MOST_LOST:
        yield from _proposals(timeline, lost, before)


def _together(proposals: list[Proposal]) -> Proposal:
    """What several states need, for all of them; of syncs of single lines, whose numbers are a row's, the first's."""
    first, *others = proposals
    more = [sync for other in others for sync in other.syncs if sync.update < 0]
    calls = dict.fromkeys(call for proposal in proposals for call in proposal.calls)
    return Proposal(tuple(dict.fromkeys([*first.syncs, *more])), tuple(calls), first.source)


def roots_of(timeline: Timeline, lost: list[int]) -> list[int]:
    """The lost updates that are not merely lost because another one is."""
    gone = set(lost)
    roots = [update for update in lost if not gone.intersection(timeline.needs(update))]
    return roots or lost


def _proposals(timeline: Timeline, lost: list[int], before: int) -> Iterable[Proposal]:
    lines = [u for u in lost if timeline.updates.obj[u] in timeline.in_lines and timeline.kind(u) is UpdateKind.DATA]
    if lines:
        yield _flushes(timeline, lines, before)
        lost = sorted(set(lost).difference(lines))
    files = [u for u in lost if timeline.kind(u) in _CONTENT]
    names = [u for u in lost if timeline.kind(u) is UpdateKind.ENTRY]
    others = [u for u in lost if u not in files and u not in names]
    if files:
        yield _proposal(timeline, [(u, True) for u in files], [], before)
        yield _proposal(timeline, [(u, False) for u in files], [], before)
    if others:
        yield _proposal(timeline, [(u, False) for u in others], [], before)
    if names:
        yield _proposal(timeline, [], names, before)
    if (files or others) and names:
        yield _proposal(timeline, [(u, False) for u in files + others], names, before)


def _proposal(timeline: Timeline, contents: list[tuple[int, bool]], names: list[int], before: int) -> Proposal:
    """Syncs of the objects behind some lost updates, in front of every call like the one at `before`."""
    syncs: dict[ExtraSync, None] = {}
    calls: dict[str, None] = {}
    for update, data_only in contents:
        obj = timeline.updates.obj[update]
        name = timeline.index.path_of(obj, at=update).decode("utf-8", "replace")
        calls[f"{_sync_call(timeline, update, data_only)}({name})"] = None
        for event, like in _executions(timeline, update, before):
            syncs[ExtraSync(event, timeline.updates.obj[like], data_only)] = None
    for update in names:
        for folder in _folders(timeline, update):
            path = timeline.index.path_of(folder).decode("utf-8", "replace") or "the data folder"
            calls[f"fsync of the directory ({path})"] = None
        for event, like in _executions(timeline, update, before):
            for folder in _folders(timeline, like):
                syncs[ExtraSync(event, folder)] = None
    return Proposal(tuple(syncs), tuple(calls), timeline)


def _sync_call(timeline: Timeline, update: int, data_only: bool) -> str:
    if data_only and timeline.trace.events["kind"][timeline.event[update]] == Kind.STORE:
        return "msync"
    return "fdatasync" if data_only else "fsync"


def _flushes(timeline: Timeline, lost: list[int], before: int) -> Proposal:
    """Flushes of the lines of lost stores, as far as they are missing, and a fence."""
    syncs = {
        ExtraSync(event, timeline.updates.obj[like], True, like): None
        for update in lost
        for event, like in _executions(timeline, update, before)
    }
    unflushed = [update for update in lost if not _is_flushed(timeline, update, before)]
    calls = [f"clwb of {text}" for text in _ranges(timeline, unflushed)]
    return Proposal(tuple(syncs), (*calls, "sfence"), timeline)


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
    return [f"bytes {start} to {end} of {names[obj]}" for obj, start, end in found]


def _folders(timeline: Timeline, update: int) -> set[int]:
    """The folders to sync for a change of names: where a name appeared, or else where one went."""
    updates = timeline.updates
    effects = range(updates.start[update], updates.start[update] + updates.length[update])
    gained = {updates.effect_folder[e] for e in effects if updates.effect_value[e] >= 0}
    return gained or {updates.effect_folder[e] for e in effects}


def _executions(timeline: Timeline, update: int, before: int) -> list[tuple[int, int]]:
    """(event, update) for each execution of the call at `before` and every update like this one since the last.

    The same line of the program is the same call stack; without stacks only the one execution is known.
    """
    events = timeline.trace.events
    stack = int(events["stack"][before])
    if not stack:
        return [(before, update)]
    places = np.flatnonzero((events["stack"] == stack) & (events["kind"] == events["kind"][before]))
    kinds = np.frombuffer(timeline.updates.kind, np.int8)
    same = (events["stack"][timeline.event] == events["stack"][timeline.event[update]]) & (kinds == kinds[update])
    alike = np.flatnonzero(same)
    following = np.searchsorted(places, timeline.event[alike], side="right")
    return [(int(places[p]), int(u)) for u, p in zip(alike, following, strict=True) if p < len(places)]

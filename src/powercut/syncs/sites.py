"""The syncs of a program: every place that makes something durable, with the events of all its executions.

Before: a timeline. After: one `Site` for each kind of sync and call site. A call site is the way from the sync to the
function whose work it makes durable: a helper that only syncs (`sync_file`) has one site for each of its callers, while
whoever called these makes no difference. Syncs of a file and of a folder are two, whatever makes the call: they do
different things. Where stacks were not recorded, syncs are told apart by what they sync.

Locked instructions fence, too, but stand in a program for other reasons: they are not among the sites.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.findings.finding import Location
from powercut.findings.places import Places, place_of
from powercut.lint.blame import Blame
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.states.rules import MS_SYNC
from powercut.states.timeline import Timeline
from powercut.trace.layout import Fence, Flag, Flush, Kind
from powercut.trace.symbols import library_function, user_frame

_MOST_NAMED = 3  # files
_MOST_LOOKED_AT = 1000  # executions whose files are named
_CALLS = {
    Kind.FSYNC: "fsync",
    Kind.FDATASYNC: "fdatasync",
    Kind.SYNC: "sync",
    Kind.SYNCFS: "syncfs",
    Kind.MSYNC: "msync",
    Kind.SYNC_RANGE: "sync_file_range",
}
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Site:
    """One place that syncs.

    Attributes:
        call: what it calls: fsync, fdatasync, msync, clwb, sfence, O_SYNC write.
        events: its executions.
        location: the user's own innermost line.
        caller: whose work it makes durable, where that is another line.
        library: the function that makes the call, where that is not the user's own.
        files: the names of some files that it syncs.
        more_files: how many more there are.
        stacks: by how many call stacks it was reached.
    """

    call: str
    events: Numbers
    location: Location
    caller: Location | None
    library: str | None
    files: tuple[str, ...]
    more_files: int
    stacks: int


@dataclass(frozen=True, slots=True)
class ProgramSyncs:
    """A recorded program under some models, and its syncs."""

    timelines: Sequence[Timeline]
    places: Places
    sites: Sequence[Site]

    @classmethod
    def of(cls, timelines: Sequence[Timeline]) -> ProgramSyncs:
        """Find the syncs of a program; they are the same under all models."""
        places = Places(timelines[0].trace)
        return cls(timelines, places, find_sites(timelines[0], places))


def find_sites(timeline: Timeline, places: Places) -> list[Site]:
    """All sites, in the order in which they were first reached."""
    events, calls = _syncs(timeline.trace.events)
    stacks = timeline.trace.events["stack"][events].astype(np.int64)
    inodes = timeline.trace.events["inode"][events].astype(np.int64)
    things = np.where(stacks == 0, inodes, _are_folders(timeline, events))
    places.prepare(distinct(stacks).tolist())
    blame = Blame(places, distinct(timeline.trace.events["stack"][timeline.event]).tolist())
    groups: dict[tuple[int, *tuple[Hashable, ...]], list[Numbers]] = defaultdict(list)
    for (call, stack, thing), some in _alike(np.stack([calls, stacks, things]), events):
        way = blame.way(stack) if stack else ()
        # The line says which of several calls in a function it is; without lines, the address does.
        addresses = tuple(frame.address for frame in way if frame.line is None)
        groups[call, thing, way, addresses].append(some)
    found = [
        _site(timeline, places, blame, np.sort(np.concatenate(some)), _call(key[0])) for key, some in groups.items()
    ]
    return sorted(found, key=lambda site: int(site.events[0]))


def sync_calls(timeline: Timeline, first: int, end: int) -> list[tuple[int, str]]:
    """The syncs among the events from one on up to another, each in words: what it calls, and of what."""
    found, calls = _syncs(timeline.trace.events[first:end])
    named = [(first + int(event), _call(int(call))) for event, call in zip(found, calls, strict=True)]
    return [(event, " of ".join([call, *_files(timeline, np.array([event]))])) for event, call in named]


def _alike(properties: Numbers, events: Numbers) -> Iterable[tuple[tuple[int, ...], Numbers]]:
    """Events that have the same in every row of properties, with what they have."""
    if not len(events):
        return
    values, inverse = np.unique(properties, axis=1, return_inverse=True)
    numbers = inverse.reshape(-1)
    order = np.argsort(numbers, kind="stable")
    parts = np.split(events[order], np.flatnonzero(np.diff(numbers[order])) + 1)
    yield from zip(map(tuple, values.T.tolist()), parts, strict=True)


def _syncs(events: Any) -> tuple[Numbers, Numbers]:
    """The events that sync, and for each the number of what it calls."""
    kinds, flags = events["kind"].astype(np.int64), events["flags"].astype(np.int64)
    written = (kinds == Kind.WRITE) & ((flags & int(Flag.SYNC | Flag.DSYNC)) != 0)
    found = np.flatnonzero(np.isin(kinds, [*_CALLS, Kind.FLUSH, Kind.FENCE]) | written)
    kinds, how = kinds[found], events["extra"][found].astype(np.int64)
    how[kinds == Kind.MSYNC] &= MS_SYNC
    how[kinds == Kind.WRITE] = flags[found][kinds == Kind.WRITE] & int(Flag.SYNC)
    how[np.isin(kinds, [kind for kind in _CALLS if kind != Kind.MSYNC])] = 0
    wanted = ~((kinds == Kind.FENCE) & (how == Fence.LOCKED))
    return found[wanted], (kinds << 8 | how)[wanted]


def _are_folders(timeline: Timeline, events: Numbers) -> Numbers:
    """1 for each sync of a folder, 0 for others."""
    things, subjects = timeline.tree.things, timeline.subjects
    folders = [event for event, obj in subjects.items() if things[obj].kind is ObjectKind.FOLDER]
    return np.isin(events, folders).astype(np.int64)


def _call(number: int) -> str:
    """The name of what is called."""
    kind, how = Kind(number >> 8), number & 0xFF
    if kind is Kind.WRITE:
        return "O_SYNC write" if how else "O_DSYNC write"
    if kind is Kind.FLUSH:
        return Flush(how).name.lower() if how in set(Flush) else "flush"
    if kind is Kind.FENCE:
        return Fence(how).name.lower() if how in set(Fence) else "fence"
    return "msync without MS_SYNC" if kind is Kind.MSYNC and not how else _CALLS[kind]


def _site(timeline: Timeline, places: Places, blame: Blame, events: Numbers, call: str) -> Site:
    stacks = distinct(timeline.trace.events["stack"][events]).tolist()
    frames = places.frames_of(stacks[0])
    location = place_of(user_frame(frames), frames, "sync")
    caller = blame.location(stacks[0], "synced")
    elsewhere = (caller.file, caller.line) != (location.file, location.line)
    files = sorted(_files(timeline, events))
    return Site(
        call=call,
        events=events,
        location=location,
        caller=caller if elsewhere else None,
        library=library_function(frames),
        files=tuple(files[:_MOST_NAMED]),
        more_files=len(files[_MOST_NAMED:]),
        stacks=len(stacks),
    )


def _files(timeline: Timeline, events: Numbers) -> Iterable[str]:
    """The names of what is synced, as far as that has one."""
    objects = {timeline.subjects.get(event) for event in events[:_MOST_LOOKED_AT].tolist()}
    if objects == {None}:  # a flush, an msync, a write: only the inode is known
        objects = {timeline.tree.known(inode) for inode in distinct(timeline.trace.events["inode"][events]).tolist()}
    named = (timeline.index.path_of(obj) for obj in objects if obj is not None)
    return {name.decode("utf-8", "replace") or "the data folder" for name in named}

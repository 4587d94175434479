"""Runs of memory records, put in their place among the events.

Before: events as a tracer wrote them, with `MEMORY` events that point at arrays of small records (24 bytes instead of
64, because programs store far more often than they call). After: events in which each run is replaced by one event
for each store, flush, fence and unmapping; records that only say which thread or file the others mean are gone. A
store's `data` points at the value inside its record, so its bytes are read like those of any write.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.trace.layout import EVENT, MEMORY, Flag, Kind, MemoryKind

LINE = 64  # bytes that a flush writes back
WORD = 8  # bytes that a store changes at most
_FILE_BITS = 16
_REST = int(MemoryKind.REST)
_KINDS = {
    MemoryKind.STORE: (Kind.STORE, 0),
    MemoryKind.STORE_NONTEMPORAL: (Kind.STORE, Flag.NONTEMPORAL),
    MemoryKind.STORE_LOCKED: (Kind.STORE, Flag.LOCKED),
    MemoryKind.STORE_KERNEL: (Kind.STORE, Flag.KERNEL),
    MemoryKind.FLUSH: (Kind.FLUSH, 0),
    MemoryKind.FENCE: (Kind.FENCE, 0),
    MemoryKind.UNMAP: (Kind.UNMAP, 0),
}
Array = npt.NDArray[Any]


class BrokenRunError(ValueError):
    """A run that no tracer writes."""


def expand(events: Array, buffer: mmap.mmap | bytes) -> Array:
    """The events with their runs opened up."""
    runs = np.flatnonzero(events["kind"] == Kind.MEMORY)
    if not len(runs):
        return events
    records, where, owner = _records(events, runs, buffer)
    told = (records["kind"] == MemoryKind.THREAD) | (records["kind"] == MemoryKind.FILE)
    opened = _as_events(events, records, where, owner)[~told]
    return _in_place(events, runs, opened, owner[~told])


def _records(events: Array, runs: Array, buffer: mmap.mmap | bytes) -> tuple[Array, Array, Array]:
    """All records, the offset of each in the file, and the event that each one's run is."""
    starts, lengths = events["data"][runs].astype(np.int64), events["length"][runs].astype(np.int64)
    size = MEMORY.itemsize
    if (lengths % size).any() or (starts < 0).any() or (lengths < 0).any() or (starts + lengths > len(buffer)).any():
        raise BrokenRunError("a run of memory records lies outside the file")
    counts = lengths // size
    views = [np.frombuffer(buffer, MEMORY, n, s) for s, n in zip(starts.tolist(), counts.tolist(), strict=True)]
    records = np.concatenate(views)
    inside = np.arange(len(records)) - np.repeat(np.cumsum(counts) - counts, counts)
    return records, np.repeat(starts, counts) + inside * size, np.repeat(runs, counts)


def _as_events(events: Array, records: Array, where: Array, owner: Array) -> Array:
    found = np.zeros(len(records), EVENT)
    plain = records["kind"] & ~np.uint8(_REST)
    is_store = np.zeros(len(records), np.bool_)
    for kind, (name, flags) in _KINDS.items():
        mine = plain == kind
        found["kind"][mine], found["flags"][mine] = name, flags
        if name is Kind.STORE:
            is_store |= mine
    found["flags"][(records["kind"] & _REST) != 0] |= np.uint16(Flag.REST)
    known = (found["kind"] != 0) | (plain == MemoryKind.THREAD) | (plain == MemoryKind.FILE)
    in_word = (records["size"] >= 1) & (records["offset"] % WORD + records["size"] <= WORD)
    if not known.all() or not in_word[is_store].all():
        raise BrokenRunError("a memory record is none that a tracer writes")
    found["pid"], found["stack"], found["offset"] = events["pid"][owner], records["stack"], records["offset"]
    found["tid"] = _threads(events, records, owner)
    found["inode"] = np.where(plain == MemoryKind.FENCE, 0, _inodes(records, found["pid"]))
    found["length"] = np.where(is_store, records["size"], 0)
    found["length"][plain == MemoryKind.FLUSH] = LINE
    found["length"][plain == MemoryKind.UNMAP] = records["value"][plain == MemoryKind.UNMAP]
    found["data"] = np.where(is_store, where, 0)
    says_how = (plain == MemoryKind.FLUSH) | (plain == MemoryKind.FENCE)
    found["extra"] = np.where(says_how, records["size"], 0)
    found["offset"][plain == MemoryKind.FLUSH] -= found["offset"][plain == MemoryKind.FLUSH] % LINE
    return found


def _threads(events: Array, records: Array, owner: Array) -> Array:
    """The thread of each record: the last one named in its run, or that of the run."""
    position = np.arange(len(records))
    named = np.maximum.accumulate(np.where(records["kind"] == MemoryKind.THREAD, position, -1))
    first = np.searchsorted(owner, owner)  # where each record's run begins
    return np.where(named >= first, records["value"][np.maximum(named, 0)], events["tid"][owner])


def _inodes(records: Array, pids: Array) -> Array:
    """The inode of each record's file: the last one its process gave that number."""
    keys = (pids.astype(np.int64) << _FILE_BITS) | records["file"]
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    named = np.where(records["kind"][order] == MemoryKind.FILE, np.arange(len(records)), -1)
    named = np.maximum.accumulate(named)
    without = named < np.searchsorted(ordered, ordered)
    plain = records["kind"][order] & ~np.uint8(_REST)
    if (without & ~np.isin(plain, (MemoryKind.THREAD, MemoryKind.FENCE))).any():
        raise BrokenRunError("a memory record is of a file that was never named")
    inodes = np.empty(len(records), np.uint64)
    inodes[order] = np.where(without, 0, records["value"][order][np.maximum(named, 0)])
    return inodes


def _in_place(events: Array, runs: Array, opened: Array, owner: Array) -> Array:
    """All events in one order; those of a run stand where its event stood."""
    counts = np.ones(len(events), np.int64)
    counts[runs] = np.bincount(owner, minlength=len(events))[runs]
    starts = np.cumsum(counts) - counts
    found = np.empty(int(counts.sum()), EVENT)
    others = np.ones(len(events), np.bool_)
    others[runs] = False
    found[starts[others]] = events[others]
    inside = np.arange(len(owner)) - np.searchsorted(owner, owner)
    found[starts[owner] + inside] = opened
    return found

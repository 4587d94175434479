"""The events of a trace. Runs of memory records are expanded on demand, column by column.

Before: events as a tracer wrote them, with `MEMORY` events that point at arrays of small records (24 bytes instead of
64, because programs store far more often than they call). After: `OpenedEvents`, which answers like an array of events
in which each record of a run stands in the run's place: as a store, flush, fence or unmapping, or still as `MEMORY`
where it only says which thread or file the others mean. A store's `data` points at the value inside its record, so its
bytes are read like those of any write.

Columns are made when they are asked for: a trace of ten million stores must not become ten million rows of 64 bytes.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.trace.layout import EVENT, LINE, MEMORY, Flag, Kind, MemoryKind

LARGEST_FILE = 1 << 50  # no file system of today holds more; beyond, numbers would collide
WORD = 8  # bytes that a store changes at most
_AT_ONCE = 1 << 20  # records looked at together
_GATHERED = 1 << 16  # records picked out together: their bytes are numbered one by one
_POSITION_BITS = 40
_KINDS = {
    MemoryKind.THREAD: (Kind.MEMORY, 0),
    MemoryKind.FILE: (Kind.MEMORY, 0),
    MemoryKind.STORE: (Kind.STORE, 0),
    MemoryKind.STORE_NONTEMPORAL: (Kind.STORE, int(Flag.NONTEMPORAL)),
    MemoryKind.STORE_LOCKED: (Kind.STORE, int(Flag.LOCKED)),
    MemoryKind.STORE_KERNEL: (Kind.STORE, int(Flag.KERNEL)),
    MemoryKind.FLUSH: (Kind.FLUSH, 0),
    MemoryKind.FENCE: (Kind.FENCE, 0),
    MemoryKind.UNMAP: (Kind.UNMAP, 0),
    MemoryKind.ASSERTION: (Kind.ASSERTION, 0),
    MemoryKind.LOAD: (Kind.LOAD, 0),
    MemoryKind.CANDIDATE: (Kind.CANDIDATE, 0),
    MemoryKind.EFFECT: (Kind.EFFECT, 0),
    MemoryKind.ORDER: (Kind.ORDER, 0),
}
_OF_FILES = (Kind.STORE, Kind.FLUSH, Kind.UNMAP, Kind.ASSERTION, Kind.LOAD, Kind.CANDIDATE, Kind.ORDER)
_OF_BYTES = (Kind.STORE, Kind.LOAD)  # their records hold the bytes
_KIND_OF = np.zeros(256, np.uint16)
_FLAGS_OF = np.zeros(256, np.uint16)
for _memory_kind, (_kind, _flags) in _KINDS.items():
    _KIND_OF[_memory_kind], _FLAGS_OF[_memory_kind] = _kind, _flags
    if _kind in _OF_BYTES:
        _KIND_OF[_memory_kind | MemoryKind.REST] = _kind
        _FLAGS_OF[_memory_kind | MemoryKind.REST] = _flags | int(Flag.REST)

Array = npt.NDArray[Any]


def _are_of_files(kinds: Array) -> Array:
    return np.isin(kinds, _OF_FILES)


Buffer = mmap.mmap | bytes
Test = Callable[[Array, Array], Array]  # of kinds and flags: which of them are meant


def let_go(buffer: Buffer) -> None:
    """Give back the pages of a trace: a pass over all of it would otherwise hold all of it in memory."""
    if isinstance(buffer, mmap.mmap):
        buffer.madvise(mmap.MADV_DONTNEED)


class BrokenRunError(ValueError):
    """A run that no tracer writes."""


class OpenedEvents:
    """Events with their runs opened up, like a numpy array of them."""

    def __init__(self, written: Array, buffer: Buffer) -> None:
        self._written = written
        self._buffer = buffer
        self._is_run = written["kind"] == Kind.MEMORY
        self._runs = np.flatnonzero(self._is_run)
        counts = np.ones(len(written), np.int64)
        counts[self._runs] = self._count_records()
        self.starts = np.cumsum(counts) - counts  # where each written event stands among the opened ones
        self._length = int(counts.sum())
        # Positions count records only: the first record of each run, and how many there are.
        self._first = np.cumsum(counts[self._runs]) - counts[self._runs]
        self._records = int(counts[self._runs].sum())
        self._check()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._columns:
                self._columns[key] = self._column(key)
            return self._columns[key]
        if isinstance(key, slice):
            return self.rows(np.arange(*key.indices(self._length)))
        wanted = np.asarray(key)
        if wanted.dtype == np.bool_:
            return self.rows(np.flatnonzero(wanted))
        rows = self.rows(np.atleast_1d(wanted).astype(np.int64))
        return rows if wanted.ndim else rows[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, self._length, _AT_ONCE):
            yield from self[start : start + _AT_ONCE]

    @cached_property
    def _columns(self) -> dict[str, Array]:
        return {}

    def rows(self, indices: Array) -> Array:
        """Some events as whole rows."""
        indices = np.where(indices < 0, indices + self._length, indices)
        if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= self._length):
            raise IndexError("no such event")
        owner, inside, positions = self._locate(indices)
        found = self._written[owner]
        if len(positions):
            found[inside] = self._as_events(positions)
        return found

    def at(self, name: str, indices: Array) -> Array:
        """One field of some events, without the column of all."""
        found = np.empty(len(indices), EVENT[name])
        for start in range(0, len(indices), _AT_ONCE):
            owner, inside, positions = self._locate(indices[start : start + _AT_ONCE])
            values = self._written[name][owner]
            if len(positions):
                where = self._offsets(positions)[1]
                values[inside] = self._field(name, positions, self._gather(where), where)
            found[start : start + _AT_ONCE] = values
        return found

    def where(self, test: Test) -> Array:
        """The indices of events whose kinds and flags pass a test, in order."""
        calls = self.starts[test(self._written["kind"], self._written["flags"]) & ~self._is_run]
        wanted = test(_KIND_OF, _FLAGS_OF) & (_KIND_OF != 0)
        found = [calls]
        for position, records in self._batches() if wanted.any() else ():
            mine = np.flatnonzero(wanted[records["kind"]]) + position
            run = np.searchsorted(self._first, mine, side="right") - 1
            found.append(self.starts[self._runs[run]] + mine - self._first[run])
        indices = np.concatenate(found)
        indices.sort()
        return indices

    def _locate(self, indices: Array) -> tuple[Array, Array, Array]:
        """The written event of each index, which of them are runs, and the positions of the records in these."""
        owner = np.searchsorted(self.starts, indices, side="right") - 1
        inside = self._is_run[owner]
        run = np.searchsorted(self._runs, owner[inside])
        return owner, inside, self._first[run] + indices[inside] - self.starts[owner[inside]]

    def inodes(self, kind: Kind) -> set[int]:
        """The files that records of a kind are about."""
        found: set[int] = set()
        for position, records in self._batches():
            mine = np.flatnonzero(_KIND_OF[records["kind"]] == kind)
            found.update(distinct(self._inodes(position + mine, records["file"][mine])).tolist())
        return found

    # Records by position

    def _count_records(self) -> Array:
        starts, lengths = (self._written[name][self._runs].astype(np.int64) for name in ("data", "length"))
        outside = (starts < 0) | (lengths < 0) | (starts + lengths > len(self._buffer))
        if (lengths % MEMORY.itemsize).any() or outside.any():
            raise BrokenRunError("a run of memory records is outside the file")
        return lengths // MEMORY.itemsize

    def _batches(self) -> Iterator[tuple[int, Array]]:
        """All records, many at a time, with the position of the first."""
        views: list[Array] = []
        position = done = 0
        for start, count in self._spans:
            for taken in range(0, count, _AT_ONCE):
                some = min(_AT_ONCE, count - taken)
                views.append(np.frombuffer(self._buffer, MEMORY, some, start + taken * MEMORY.itemsize))
                done += some
                if done - position >= _AT_ONCE:
                    yield position, np.concatenate(views) if len(views) > 1 else views[0]
                    views, position = [], done
                    let_go(self._buffer)
        if views:
            yield position, np.concatenate(views) if len(views) > 1 else views[0]

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Where records lie in the file, and how many: runs that follow each other there are one span."""
        starts = self._written["data"][self._runs].astype(np.int64)
        counts = np.diff(self._first, append=self._records)
        apart = np.ones(len(starts), np.bool_)  # not right behind the one before
        apart[1:] = starts[1:] != starts[:-1] + counts[:-1] * MEMORY.itemsize
        begins = np.flatnonzero(apart)
        return list(zip(starts[begins].tolist(), np.add.reduceat(counts, begins).tolist(), strict=True))

    def _offsets(self, positions: Array) -> tuple[Array, Array]:
        """The run of each record, and where the record is in the file."""
        run = np.searchsorted(self._first, positions, side="right") - 1
        return run, self._written["data"][self._runs[run]].astype(np.int64) + (
            positions - self._first[run]
        ) * MEMORY.itemsize

    @cached_property
    def _told(self) -> tuple[Array, Array, Array]:
        """Positions, kinds and contents of the records that only say which thread or file the others mean."""
        parts = []
        for position, records in self._batches():
            mine = np.flatnonzero((records["kind"] == MemoryKind.THREAD) | (records["kind"] == MemoryKind.FILE))
            parts.append((position + mine, records[mine]))
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, MEMORY)
        records = np.concatenate([part for _, part in parts])
        return np.concatenate([where for where, _ in parts]), records["kind"], records

    @cached_property
    def _threads_told(self) -> tuple[Array, Array]:
        where, kinds, records = self._told
        mine = kinds == MemoryKind.THREAD
        return where[mine], records["value"][mine]

    @cached_property
    def _files_told(self) -> tuple[Array, Array, Array]:
        """(process, file number) pairs in order; pair and position as one sorted number; the inodes they give."""
        where, kinds, records = self._told
        mine = kinds == MemoryKind.FILE
        pairs = self._pairs(where[mine], records["file"][mine])
        known = distinct(pairs)
        place = (np.searchsorted(known, pairs) << _POSITION_BITS) | where[mine]
        order = np.argsort(place)
        return known, place[order], records["value"][mine][order]

    def _pairs(self, positions: Array, files: Array) -> Array:
        run = np.searchsorted(self._first, positions, side="right") - 1
        return (self._written["pid"][self._runs[run]].astype(np.int64) << 16) | files

    def _threads(self, positions: Array) -> Array:
        """The thread of each record: the last one named in its run, or that of the run."""
        run = np.searchsorted(self._first, positions, side="right") - 1
        where, values = self._threads_told
        last = np.searchsorted(where, positions, side="right") - 1
        default = self._written["tid"][self._runs[run]].astype(np.uint64)
        if not len(where):
            return default
        named = (last >= 0) & (where[np.maximum(last, 0)] >= self._first[run])
        return np.where(named, values[np.maximum(last, 0)], default)

    def _inodes(self, positions: Array, files: Array) -> Array:
        """The inode of each record's file: the last one that its process gave the number."""
        known, places, inodes = self._files_told
        pairs = self._pairs(positions, files)
        number = np.searchsorted(known, pairs)
        found = np.searchsorted(places, (number << _POSITION_BITS) | positions, side="right") - 1
        if len(positions) and (
            not len(known)
            or (known[np.minimum(number, len(known) - 1)] != pairs).any()
            or (found < 0).any()
            or ((places[np.maximum(found, 0)] >> _POSITION_BITS) != number).any()
        ):
            raise BrokenRunError("a memory record belongs to an unknown file")
        return inodes[found] if len(positions) else np.empty(0, np.uint64)

    def _check(self) -> None:
        """Every record is one that a tracer writes."""
        self.highest_stack = 0
        for position, records in self._batches():
            self.highest_stack = max(self.highest_stack, int(records["stack"].max(initial=0)))
            kinds = _KIND_OF[records["kind"]]
            stores = kinds == Kind.STORE
            ends = records["offset"] % WORD + records["size"]
            wrong = (ends > WORD) | (records["size"] < 1) | (records["offset"] > LARGEST_FILE)
            if (kinds == 0).any() or wrong[stores].any():
                raise BrokenRunError("a memory record has an unknown kind")
            of_files = np.flatnonzero(_are_of_files(kinds))
            self._inodes(position + of_files, records["file"][of_files])

    # Rows and columns

    def _as_events(self, positions: Array) -> Array:
        """Records as events."""
        _, where = self._offsets(positions)
        records = self._gather(where)
        found = np.zeros(len(positions), EVENT)
        for name in EVENT.names or ():
            found[name] = self._field(name, positions, records, where)
        return found

    def _gather(self, where: Array) -> Array:
        """The records that begin at some places in the file."""
        content, found = np.frombuffer(self._buffer, np.uint8), np.empty(len(where), MEMORY)
        for start in range(0, len(where), _GATHERED):
            some = where[start : start + _GATHERED, None] + np.arange(MEMORY.itemsize)
            found[start : start + _GATHERED] = content[some].reshape(-1).view(MEMORY)
        return found

    def _column(self, name: str) -> Array:
        """One field of all events."""
        column = np.empty(self._length, EVENT[name])
        column[self.starts[~self._is_run]] = self._written[name][~self._is_run]
        memory = np.ones(self._length, np.bool_)
        memory[self.starts[~self._is_run]] = False
        values = np.empty(self._records, EVENT[name])
        for position, records in self._batches():
            positions = np.arange(position, position + len(records))
            where = self._offsets(positions)[1] if name == "data" else positions
            values[position : position + len(records)] = self._field(name, positions, records, where)
        column[memory] = values
        return column

    def _field(self, name: str, positions: Array, records: Array, where: Array) -> Any:
        """One field of some records, as it is in an event."""
        kinds = _KIND_OF[records["kind"]]
        if name == "kind":
            return kinds
        if name == "flags":  # a run has none of its own but that all of it was put in
            return _FLAGS_OF[records["kind"]] | self._of_runs(name, positions)
        if name == "pid":
            return self._of_runs(name, positions)
        if name == "tid":
            return self._threads(positions)
        if name == "stack":
            return records["stack"]
        if name == "inode":
            return self._inodes_of(kinds, positions, records["file"])
        if name == "offset":
            aligned = np.where(kinds == Kind.FLUSH, records["offset"] % LINE, 0)
            return np.where(_are_of_files(kinds), records["offset"] - aligned, 0)
        if name == "length":
            sized = np.isin(kinds, (*_OF_BYTES, Kind.CANDIDATE, Kind.EFFECT))
            sizes = np.where(sized, records["size"], np.where(kinds == Kind.FLUSH, LINE, 0))
            told = np.isin(kinds, (Kind.UNMAP, Kind.ASSERTION, Kind.ORDER))
            return np.where(told, records["value"], sizes.astype(np.uint64))
        if name == "data":
            return np.where(np.isin(kinds, _OF_BYTES), where, 0)
        if name == "extra":
            numbers = np.where(np.isin(kinds, (Kind.CANDIDATE, Kind.EFFECT)), records["value"], 0)
            sized = np.isin(kinds, (Kind.FLUSH, Kind.FENCE, Kind.ASSERTION, Kind.ORDER))
            return np.where(sized, records["size"], numbers)
        return 0  # no paths

    def _of_runs(self, name: str, positions: Array) -> Array:
        """A field of the runs that some records are in."""
        found: Array = self._written[name][self._runs[np.searchsorted(self._first, positions, side="right") - 1]]
        return found

    def _inodes_of(self, kinds: Array, positions: Array, files: Array) -> Array:
        found = np.zeros(len(positions), np.uint64)
        mine = _are_of_files(kinds)
        found[mine] = self._inodes(positions[mine], files[mine])
        return found

"""Reading a trace: a memory map, numpy views of its event records, and look-ups of blobs and interned things.

Before: a file that claims to be a trace, written by any tracer, perhaps cut short. After: a `Trace` whose events are
whole records and whose every blob reference has been checked against the file, or a `UsageError` that says why not.
Nothing in the file is trusted.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from powercut.arrays import among, distinct
from powercut.errors import UsageError
from powercut.trace.events import LARGEST_FILE, BrokenRunError, OpenedEvents, Test, let_go
from powercut.trace.layout import (
    DATA,
    ENTRY,
    EVENT,
    EXTENT_HEADER,
    EXTENT_HEADER_SIZE,
    EXTENT_MAGIC,
    HEADER_SIZE,
    LENGTH,
    MEMORY,
    TRACE_MAGIC,
    TRACE_VERSION,
    Channel,
    ExtentKind,
    Kind,
    Record,
    TableKind,
)

_IN_RUNS = (
    *(Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.UNMAP, Kind.ASSERTION),
    *(Kind.LOAD, Kind.CANDIDATE, Kind.EFFECT, Kind.ORDER),
)
_WITH_CONTENT = (Kind.WRITE, Kind.SNAP_DATA)
_AT_OFFSETS = (*_WITH_CONTENT, Kind.SNAP_FILE, Kind.TRUNCATE, Kind.FALLOCATE)
_AT_ONCE = 4096  # events turned into tuples at a time
_GATHERED = 1 << 16  # events of which a field is gathered at a time
_HELD = 16 << 20  # bytes of events or runs that a pass over them holds in memory
Events = npt.NDArray[Any]


class Trace:
    """The ordered events of one run, and everything they refer to.

    Attributes:
        events: all events, snapshot first, in the order in which their calls finished; runs of memory records are
            opened up.
        truncated: the file ends inside an extent: the tracer was killed or the disk was full.
    """

    def __init__(self, buffer: mmap.mmap | bytes, name: str, *, opened: bool = True) -> None:
        """Check what a file holds; not `opened`, runs of memory records stay unread, each one event."""
        self.name = name
        self._buffer = buffer
        self._check_header()
        events, entries, cut_short = self._extents()
        self._written: Events = _snapshot_first(np.concatenate(events) if len(events) != 1 else events[0])
        self.events = self._opened() if opened else self._written
        self._tables = self._read_tables(entries)
        self._strings: list[bytes] | None = None
        self._handed_out = 0
        self.meta = self._read_meta()
        self.truncated = cut_short or "exit" not in self.meta  # how the program ended is written last
        self._check_references()

    @classmethod
    def open(cls, path: str | Path, *, opened: bool = True) -> Trace:
        """Map a trace file."""
        try:
            with open(path, "rb", opener=_open_at_once) as file:
                try:
                    buffer: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                except ValueError:  # an empty file cannot be mapped
                    buffer = b""
        except OSError as error:
            raise UsageError("trace-unreadable", f"cannot read the trace {path}: {error.strerror}.") from error
        return cls(buffer, str(path), opened=opened)

    def _opened(self) -> Events | OpenedEvents:
        """The events with their runs of memory records opened up; just the events if there are no runs."""
        if not (self._written["kind"] == Kind.MEMORY).any():
            return self._written
        try:
            return OpenedEvents(self._written, self._buffer)
        except BrokenRunError as error:
            raise self.broken(str(error)) from error

    def blob(self, offset: int, length: int) -> bytes:
        """Bytes that a record points at."""
        return self._buffer[offset : offset + length]

    def string(self, number: int) -> bytes:
        """An interned string; number 0 is the empty one."""
        if self._strings is None:
            self._strings = [b"", *(self.blob(int(e["data"]), int(e["length"])) for e in self.table(TableKind.STRING))]
        return self._strings[number]

    def table(self, kind: TableKind) -> Events:
        """All interned entries of one kind; the entry with id *n* stands at index *n - 1*."""
        return self._tables[kind]

    def entry(self, kind: TableKind, number: int) -> bytes:
        """The content of one interned entry."""
        entry = self._tables[kind][number - 1]
        return self.blob(int(entry["data"]), int(entry["length"]))

    def calls(self, first: int = 0) -> Iterator[tuple[int, Record]]:
        """Indices and events as tuples, many times faster to walk than the array; a run of memory records is one event.

        `first` counts written events; before the first run that is the same as an index.
        """
        starts = self.events.starts if isinstance(self.events, OpenedEvents) else None
        for start in range(first, len(self._written), _AT_ONCE):
            some = self._written[start : start + _AT_ONCE].tolist()
            self._hand_out(len(some) * self._written.itemsize)
            indices = range(start, start + len(some)) if starts is None else starts[start : start + _AT_ONCE].tolist()
            yield from zip(indices, some, strict=True)

    def run(self, event: Record) -> npt.NDArray[Any]:
        """The records of a run."""
        self._hand_out(event[LENGTH])
        return np.frombuffer(self._buffer, MEMORY, event[LENGTH] // MEMORY.itemsize, event[DATA])

    def field(self, name: str, indices: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One field of some events; the pages of the trace that this takes are not all in memory at once."""
        if isinstance(self.events, OpenedEvents):
            return cast(npt.NDArray[Any], self.events[name][indices])
        found = np.empty(len(indices), EVENT[name])
        for start in range(0, len(indices), _GATHERED):
            found[start : start + _GATHERED] = self.events[name][indices[start : start + _GATHERED]]
            self._hand_out(_GATHERED * self._written.itemsize)
        return found

    def _hand_out(self, size: int) -> None:
        """Note that bytes of the trace were read: now and then, their pages are given back."""
        self._handed_out += size
        if self._handed_out > _HELD:
            self._handed_out = 0
            let_go(self._buffer)

    @property
    def written(self) -> Events:
        """The events as they stand in the file: a run of memory records is one event."""
        return self._written

    def let_go(self) -> None:
        """Give back the pages that were read: after a pass over all events, most of them are not asked for again."""
        let_go(self._buffer)

    @property
    def content(self) -> mmap.mmap | bytes:
        """The whole file."""
        return self._buffer

    def inodes(self, kind: Kind) -> set[int]:
        """The files that events of a kind are about."""
        if isinstance(self.events, OpenedEvents) and kind in (Kind.STORE, Kind.FLUSH, Kind.UNMAP):
            return self.events.inodes(kind)
        return set(distinct(self._written["inode"][self._written["kind"] == kind]).tolist())

    def of_kind(self, *kinds: Kind) -> npt.NDArray[np.int64]:
        """Indices of all events of some kinds, in order."""
        return self.where(lambda found, _: among(found, kinds))

    def where(self, test: Test) -> npt.NDArray[np.int64]:
        """Indices of all events whose kinds and flags pass a test, in order."""
        if isinstance(self.events, OpenedEvents):
            return self.events.where(test)
        return np.flatnonzero(test(self.events["kind"], self.events["flags"]))

    def at(self, name: str, indices: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """One field of some events."""
        if isinstance(self.events, OpenedEvents):
            return self.events.at(name, indices)
        found: npt.NDArray[Any] = self.events[name][indices]
        return found

    def notes(self) -> list[str]:
        """What the tracer had to say to the user."""
        events = self.events[self.of_kind(Kind.NOTE)]
        return [self.blob(int(e["data"]), int(e["length"])).decode("utf-8", "replace") for e in events]

    @property
    def sees_memory(self) -> bool:
        """Whether stores into mapped files were recorded."""
        return self.meta.get("tracer", b"").startswith(b"grind")

    @property
    def command(self) -> list[str]:
        """The workload's argument list."""
        return [part.decode("utf-8", "surrogateescape") for part in self.meta.get("command", b"").split(b"\0") if part]

    @property
    def rest(self) -> bytes | None:
        """What the data folder holds besides what is recorded, packed; None if everything is recorded."""
        return self.meta.get("rest")

    @property
    def folder(self) -> str:
        """The data folder as the workload saw it."""
        return self.meta.get("dir", b"").decode("utf-8", "surrogateescape")

    def broken(self, why: str) -> UsageError:
        """The error for content that cannot be."""
        return UsageError("trace-broken", f"cannot read the trace {self.name}: {why}.", "Record it again.")

    def _check_header(self) -> None:
        head = bytes(self._buffer[:HEADER_SIZE])
        if len(head) < HEADER_SIZE or head[:8] != TRACE_MAGIC:
            raise self.broken("it does not start with a trace header")
        version, size, event_size, entry_size = np.frombuffer(head, "<u4", 4, 8)
        if version != TRACE_VERSION:
            raise self.broken(f"it has format version {version}, but this powercut reads version {TRACE_VERSION}")
        if (size, event_size, entry_size) != (HEADER_SIZE, EVENT.itemsize, ENTRY.itemsize):
            raise self.broken("its record sizes do not fit its version")

    def _extents(self) -> tuple[list[Events], list[Events], bool]:
        """Walk the extents; views of their records, and whether the file ends early."""
        events: list[Events] = [np.empty(0, EVENT)]
        entries: list[Events] = [np.empty(0, ENTRY)]
        end = len(self._buffer)
        position = HEADER_SIZE
        while position + EXTENT_HEADER_SIZE <= end:
            header = np.frombuffer(self._buffer, EXTENT_HEADER, 1, position)[0]
            capacity, used = int(header["capacity"]), int(header["used"])
            if header["magic"] == 0 and capacity == 0:  # room that was reserved and never used
                return self._drop_empty(events), self._drop_empty(entries), True
            if header["magic"] != EXTENT_MAGIC or used > capacity or capacity % 64:
                raise self.broken(f"the extent at byte {position} is damaged")
            start = position + EXTENT_HEADER_SIZE
            inside = min(used, end - start)
            dtype, into = (EVENT, events) if header["kind"] == ExtentKind.EVENTS else (ENTRY, entries)
            if header["kind"] != ExtentKind.BLOBS and inside >= dtype.itemsize:
                into.append(np.frombuffer(self._buffer, dtype, inside // dtype.itemsize, start))
            position = start + capacity
            # A finished file ends with what its last extent holds, or, where room was reserved, with the extent itself.
            if used > inside or start + used < end < position:
                return self._drop_empty(events), self._drop_empty(entries), True
        part_of_a_header = position < end
        return self._drop_empty(events), self._drop_empty(entries), part_of_a_header

    @staticmethod
    def _drop_empty(views: list[Events]) -> list[Events]:
        return views[1:] if len(views) > 1 else views

    def _read_tables(self, extents: Sequence[Events]) -> dict[TableKind, Events]:
        entries = np.concatenate(extents)
        ends = entries["data"] + entries["length"]
        if len(entries) and (int(ends.max()) > len(self._buffer) or (ends < entries["data"]).any()):
            raise self.broken("an interned entry points outside the file")
        tables = {}
        for kind in TableKind:
            table = entries[entries["kind"] == kind]
            if len(table) and not np.array_equal(table["id"], np.arange(1, len(table) + 1)):
                raise self.broken("its interned entries are out of order")
            tables[kind] = table
        return tables

    def _read_meta(self) -> dict[str, bytes]:
        meta = {}
        for number in range(1, len(self._tables[TableKind.META]) + 1):
            key, _, value = self.entry(TableKind.META, number).partition(b"\0")
            meta[key.decode("ascii", "replace")] = value
        return meta

    def _check_references(self) -> None:
        events = self._written
        strings, stacks = len(self._tables[TableKind.STRING]), len(self._tables[TableKind.STACK])
        if not len(events):
            return
        stack = int(events["stack"].max())
        if isinstance(self.events, OpenedEvents):
            stack = max(stack, self.events.highest_stack)
        if max(int(events["path"].max()), int(events["path2"].max())) > strings or stack > stacks:
            raise self.broken("an event refers to a missing entry")
        outputs = events[events["kind"] == Kind.OUTPUT]
        if not among(outputs["extra"], list(Channel)).all():
            raise self.broken("an output has an unknown channel")
        for start in range(0, len(events), _AT_ONCE):  # a copy of all would be most of the memory that reading takes
            self._check_data(events[start : start + _AT_ONCE])

    def _check_data(self, events: Events) -> None:
        """What some events say of content, and where they say it is."""
        if among(events["kind"], _IN_RUNS).any():
            raise self.broken("a memory event is outside a run")
        of_files = events[among(events["kind"], _AT_OFFSETS)]
        far = (of_files["offset"] > LARGEST_FILE) & (of_files["kind"] != Kind.SNAP_FILE)  # where it is an owner
        far |= of_files["length"] > LARGEST_FILE
        if (
            far.any()
            or ((of_files["data"] == 0) & among(of_files["kind"], _WITH_CONTENT) & (of_files["length"] > 0)).any()
        ):
            raise self.broken("an event writes beyond the largest possible file")
        with_data = events[events["data"] != 0]
        ends = with_data["data"] + with_data["length"]
        if len(with_data) and (int(ends.max()) > len(self._buffer) or (ends < with_data["data"]).any()):
            raise self.broken("an event points at data outside the file")


def _snapshot_first(events: Events) -> Events:
    """The events with those of the snapshot first; it may have been added last."""
    snapshot = events["kind"] <= Kind.SNAP_OTHER
    count = int(snapshot.sum())
    return events if snapshot[:count].all() else np.concatenate([events[snapshot], events[~snapshot]])


def _open_at_once(path: str, flags: int) -> int:
    """A pipe that nobody writes to is no trace, and nothing to wait for."""
    return os.open(path, flags | os.O_NONBLOCK)

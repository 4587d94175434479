"""A large trace, made by numpy straight in the file format: what a busy storage engine would leave.

Log files are appended to in small pieces and synced now and then, database files are overwritten block by block, small
files are replaced by rename, and the program prints what it acknowledges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.trace.layout import (
    ENTRY,
    EVENT,
    EXTENT_HEADER_SIZE,
    EXTENT_MAGIC,
    HEADER_SIZE,
    TRACE_MAGIC,
    TRACE_VERSION,
    Channel,
    ExtentKind,
    Kind,
    TableKind,
)

DATABASES, LOGS, REPLACED = 8, 8, 64
DATABASE_BLOCKS = 2048
BLOCK = 4096
POOL = 32 << 20  # bytes that writes take their data from
STACKS = 200
FOLDER_INODE, DATABASE_INODE, LOG_INODE, SMALL_INODE = 1, 1000, 2000, 10_000

Events = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


def write_trace(path: Path, count: int, seed: int = 0) -> None:
    """Write a trace of about `count` events after a small snapshot."""
    rng = np.random.default_rng(seed)
    table = _Table()
    events = np.concatenate([_snapshot(table), _body(table, count, rng)])
    entries, blobs = table.layout()
    pool = rng.integers(0, 256, POOL, dtype=np.uint8).tobytes()
    with open(path, "wb") as file:
        write_head(file)
        write_extent(file, ExtentKind.BLOBS, pool + blobs)
        write_extent(file, ExtentKind.TABLE, entries.tobytes())
        write_extent(file, ExtentKind.EVENTS, events.tobytes())


class _Table:
    """Interned things; their blobs stand behind the pool."""

    def __init__(self) -> None:
        self._items: list[tuple[TableKind, int, bytes]] = []
        self._counts: dict[TableKind, int] = {}
        self._strings: dict[bytes, int] = {}
        for key, value in (("dir", b"/data"), ("command", b"synthetic"), ("exit", b"exited 0")):
            self.add(TableKind.META, key.encode() + b"\0" + value)
        for number in range(STACKS):
            self.add(TableKind.STACK, np.array([1, 0, number, 0], "<u4").tobytes())

    def add(self, kind: TableKind, data: bytes) -> int:
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        self._items.append((kind, number, data))
        return number

    def string(self, text: str) -> int:
        data = text.encode()
        if data not in self._strings:
            self._strings[data] = self.add(TableKind.STRING, data)
        return self._strings[data]

    def layout(self) -> tuple[Events, bytes]:
        blobs = bytearray()
        entries = np.zeros(len(self._items), ENTRY)
        for row, (kind, number, data) in enumerate(self._items):
            entries[row] = (kind, number, HEADER_SIZE + EXTENT_HEADER_SIZE + POOL + len(blobs), len(data), 0)
            blobs += data.ljust(-(-len(data) // 8) * 8, b"\0")
        return entries, bytes(blobs)


def write_head(file: Any) -> None:
    """Start a trace file."""
    sizes = np.array([TRACE_VERSION, HEADER_SIZE, EVENT.itemsize, ENTRY.itemsize], "<u4").tobytes()
    file.write((TRACE_MAGIC + sizes).ljust(HEADER_SIZE, b"\0"))


def write_extent(file: Any, kind: ExtentKind, payload: bytes) -> None:
    """Go on with an extent that is wholly used."""
    capacity = -(-len(payload) // 64) * 64
    header = np.array([EXTENT_MAGIC, kind], "<u4").tobytes() + np.array([capacity, len(payload)], "<u8").tobytes()
    file.write(header.ljust(EXTENT_HEADER_SIZE, b"\0"))
    file.write(payload.ljust(capacity, b"\0"))


def _snapshot(table: _Table) -> Events:
    """The folder before: databases with content, empty logs, one version of each small file."""
    events = np.zeros(1 + 2 * DATABASES + LOGS + REPLACED, EVENT)
    events[0] = (Kind.SNAP_DIR, 0, 0, 0, 0, FOLDER_INODE, 0, 0, 0, 0o40755, table.string(""), 0)
    row = 1
    size = DATABASE_BLOCKS * BLOCK
    data = HEADER_SIZE + EXTENT_HEADER_SIZE
    for number in range(DATABASES):
        inode = DATABASE_INODE + number
        name = table.string(f"database-{number}")
        events[row] = (Kind.SNAP_FILE, 0, 0, 0, 0, inode, 0, size, 0, 0o100644, name, 0)
        events[row + 1] = (Kind.SNAP_DATA, 0, 0, 0, 0, inode, 0, size, data + number * BLOCK, 0, 0, 0)
        row += 2
    for number in range(LOGS):
        name = table.string(f"log-{number}")
        events[row] = (Kind.SNAP_FILE, 0, 0, 0, 0, LOG_INODE + number, 0, 0, 0, 0o100644, name, 0)
        row += 1
    for number in range(REPLACED):
        name = table.string(f"small-{number}")
        events[row] = (Kind.SNAP_FILE, 0, 0, 0, 0, SMALL_INODE + number, 0, 0, 0, 0o100644, name, 0)
        row += 1
    return events


def _body(table: _Table, count: int, rng: np.random.Generator) -> Events:
    """Appends, overwrites, syncs, prints and replaced files, mixed."""
    events = np.zeros(count, EVENT)
    events["pid"] = events["tid"] = 1
    events["stack"] = rng.integers(1, STACKS + 1, count)
    choice = rng.random(count)
    appends = np.flatnonzero(choice < 0.60)
    overwrites = np.flatnonzero((choice >= 0.60) & (choice < 0.94))
    syncs = np.flatnonzero((choice >= 0.94) & (choice < 0.97))
    prints = np.flatnonzero((choice >= 0.97) & (choice < 0.99))
    _append(events, appends, rng)
    _overwrite(events, overwrites, rng)
    _sync(events, syncs, rng)
    _print(events, prints, rng)
    replaced = np.flatnonzero(choice >= 0.99)
    odd = len(replaced) % 4  # too few for one more file
    _replace(events, replaced[: len(replaced) - odd], table, rng)
    return np.delete(events, replaced[len(replaced) - odd :])


def _append(events: Events, where: Numbers, rng: np.random.Generator) -> None:
    log = rng.integers(0, LOGS, len(where))
    length = rng.integers(40, 400, len(where))
    offset = np.zeros(len(where), np.int64)
    for number in range(LOGS):
        mine = log == number
        ends = np.cumsum(length[mine])
        offset[mine] = ends - length[mine]
    events["kind"][where] = Kind.WRITE
    events["inode"][where] = LOG_INODE + log
    events["offset"][where] = offset
    _fill(events, where, length, rng)


def _overwrite(events: Events, where: Numbers, rng: np.random.Generator) -> None:
    events["kind"][where] = Kind.WRITE
    events["inode"][where] = DATABASE_INODE + rng.integers(0, DATABASES, len(where))
    events["offset"][where] = rng.integers(0, DATABASE_BLOCKS, len(where)) * BLOCK
    _fill(events, where, np.full(len(where), BLOCK), rng)


def _sync(events: Events, where: Numbers, rng: np.random.Generator) -> None:
    events["kind"][where] = np.where(rng.random(len(where)) < 0.5, int(Kind.FSYNC), int(Kind.FDATASYNC))
    logs = rng.random(len(where)) < 0.7
    number = rng.integers(0, min(LOGS, DATABASES), len(where))
    events["inode"][where] = np.where(logs, LOG_INODE, DATABASE_INODE) + number


def _print(events: Events, where: Numbers, rng: np.random.Generator) -> None:
    events["kind"][where] = Kind.OUTPUT
    events["extra"][where] = Channel.STDOUT
    _fill(events, where, np.full(len(where), 16), rng)


def _replace(events: Events, where: Numbers, table: _Table, rng: np.random.Generator) -> None:
    """Small files: create, write, fsync, rename over the old one; four of the given places in turn."""
    where = where.reshape(-1, 4)
    number = rng.integers(0, REPLACED, len(where))
    inode = SMALL_INODE + REPLACED + np.arange(len(where))
    temporary = table.string("small.tmp")
    names = np.array([table.string(f"small-{small}") for small in range(REPLACED)])
    for column, kind in enumerate((Kind.CREATE, Kind.WRITE, Kind.FSYNC, Kind.RENAME)):
        events["kind"][where[:, column]] = kind
        events["inode"][where[:, column]] = inode
    events["path"][where[:, 0]] = events["path"][where[:, 3]] = temporary
    events["extra"][where[:, 0]] = 0o100644
    events["path2"][where[:, 3]] = names[number]
    _fill(events, where[:, 1], np.full(len(where), 200), rng)


def _fill(events: Events, where: Numbers, length: Numbers, rng: np.random.Generator) -> None:
    """Give events data out of the pool."""
    start = rng.integers(0, (POOL - BLOCK) // 8, len(where)) * 8
    events["length"][where] = length
    events["data"][where] = HEADER_SIZE + EXTENT_HEADER_SIZE + start

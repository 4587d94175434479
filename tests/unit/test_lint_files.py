"""The patterns of files: each by an example, and its silent twin; the stack of an event says which line it is."""

from __future__ import annotations

import numpy as np
import pytest

from powercut.lint.file_pass import FilePass
from powercut.lint.memory_pass import persistent_files, walk
from powercut.lint.sightings import Sightings
from powercut.model.memory import AUTO
from powercut.trace.layout import FRAME, Channel, Flag, Flush, Kind, MemoryKind, TableKind
from powercut.trace.writer import TraceWriter

ROOT, FILE, OTHER, NEW, FOLDER = 1, 10, 11, 20, 30
STACKS = 12
Event = tuple[Kind, dict]


def write(stack: int, inode: int = FILE, **more: object) -> Event:
    return (Kind.WRITE, {"inode": inode, "data": b"text", "stack": stack, **more})


def create(stack: int, path: bytes = b"new", inode: int = NEW) -> Event:
    return (Kind.CREATE, {"inode": inode, "path": path, "extra": 0o100644, "stack": stack})


def rename(stack: int, old: bytes, new: bytes, inode: int, replaced: int = 0) -> Event:
    return (Kind.RENAME, {"inode": inode, "path": old, "path2": new, "extra": replaced, "stack": stack})


def fsync(stack: int, inode: int = FILE, kind: Kind = Kind.FSYNC) -> Event:
    return (kind, {"inode": inode, "stack": stack})


def say(stack: int, channel: Channel = Channel.STDOUT) -> Event:
    return (Kind.OUTPUT, {"data": b"done\n", "extra": channel, "stack": stack})


def seen(events: list[Event], tracer: bytes = b"calls", internal: set[int] = frozenset()) -> dict[tuple, int]:  # type: ignore[assignment]
    writer = TraceWriter()
    writer.meta("tracer", tracer)
    for number in range(STACKS):
        writer.entry(TableKind.STACK, np.array([(1, 0, number)], FRAME).tobytes())
    writer.event(Kind.SNAP_DIR, path=b"", inode=ROOT, extra=0o40755)
    for name, inode in ((b"file", FILE), (b"other", OTHER)):
        writer.event(Kind.SNAP_FILE, path=name, inode=inode, length=4, extra=0o100644)
    for kind, fields in events:
        if kind is Kind.MEMORY:
            writer.memory(fields["records"])
        else:
            writer.event(kind, **fields)
    trace = writer.trace()
    flags = bytes(number in internal for number in range(STACKS + 1))
    found, into = walk(trace, AUTO, flags), Sightings()
    FilePass(trace, found, persistent_files(found, AUTO), flags, into).walk()
    return {_key(s): s.count for s in into}


def _key(sighting) -> tuple:
    pattern = sighting.pattern
    return (pattern.name, pattern.why, sighting.stack, sighting.other)


def stores(stack: int, *, flushed: bool = False) -> Event:
    records = [(FILE, 0, 0, 1, MemoryKind.FILE, 0), (7, 0, stack, 1, MemoryKind.STORE, 8)]
    if flushed:
        records.append((0, 0, stack, 1, MemoryKind.FLUSH, Flush.CLWB))
    return (Kind.MEMORY, {"records": records})


SYNCED = [write(1), fsync(2)]
MAPPED = (Kind.MMAP, {"inode": FILE, "length": 4096})
MSYNC = (Kind.MSYNC, {"inode": FILE, "length": 4096, "extra": 4, "stack": 3})
EXAMPLES: dict[str, tuple[list[Event], dict[tuple, int]]] = {
    "written and synced": (SYNCED, {}),
    "nothing to sync": ([*SYNCED, fsync(3)], {("redundant-sync", "", 3, 0): 1}),
    "nothing to sync from the start": ([fsync(3)], {("redundant-sync", "", 3, 0): 1}),
    "fdatasync of a changed mode": (
        [(Kind.SETATTR, {"inode": FILE, "extra": 0o100600}), fsync(3, kind=Kind.FDATASYNC)],
        {("redundant-sync", "", 3, 0): 1},
    ),
    "fsync of a changed mode": ([(Kind.SETATTR, {"inode": FILE, "extra": 0o100600}), fsync(3)], {}),
    "fsync of a folder without new names": ([*SYNCED, fsync(3, ROOT)], {("redundant-sync", "", 3, 0): 1}),
    "fsync of the wrong file": ([write(1), fsync(2, OTHER)], {("wrong-file-synced", "", 2, 1): 1}),
    "the other file is synced later": (
        [write(1), fsync(2, OTHER), fsync(3)],
        {("redundant-sync", "", 2, 0): 1},
    ),
    "rename of unsynced data": (
        [create(1), write(2, NEW), rename(3, b"new", b"file", NEW, FILE), fsync(4, NEW), fsync(5, ROOT)],
        {("rename-of-unsynced", "", 3, 2): 1},
    ),
    "replaced as it should be": (
        [create(1), write(2, NEW), fsync(3, NEW), rename(4, b"new", b"file", NEW, FILE), fsync(5, ROOT)],
        {},
    ),
    "directory never synced after a rename": (
        [create(1), write(2, NEW), fsync(3, NEW), rename(4, b"new", b"file", NEW, FILE)],
        {("unsynced-entry", "", 4, 0): 1},
    ),
    "only the new file is synced": (
        [create(1), write(2, NEW), fsync(3, NEW)],
        {("unsynced-entry", "file-synced", 1, 0): 1},
    ),
    "a new file, never synced": (
        [fsync(4), create(1)],
        {("unsynced-entry", "", 1, 0): 1, ("redundant-sync", "", 4, 0): 1},
    ),
    "a file that is gone at the end": (
        [fsync(4), create(1), write(2, NEW), (Kind.UNLINK, {"inode": NEW, "path": b"new"})],
        {("redundant-sync", "", 4, 0): 1},
    ),
    "a folder in a folder": (
        [
            (Kind.MKDIR, {"inode": FOLDER, "path": b"sub", "stack": 1}),
            create(2, b"sub/new"),
            fsync(3, FOLDER),
        ],
        {("unsynced-entry", "file-synced", 1, 0): 1},
    ),
    "acknowledged after the last sync": (
        [*SYNCED, write(3), say(4)],
        {("acknowledged-unsynced", "", 3, 4): 1},
    ),
    "acknowledged, synced later": ([write(1), say(4), fsync(2)], {("acknowledged-unsynced", "later", 1, 4): 1}),
    "acknowledged, never synced": (
        [write(1), say(4), write(5, OTHER), fsync(2, OTHER)],
        {("acknowledged-unsynced", "never", 1, 4): 1},
    ),
    "said on standard error": ([*SYNCED, write(3), say(4, Channel.STDERR)], {}),
    "acknowledged after the sync": ([*SYNCED, say(4)], {}),
    "written with O_DSYNC": ([write(1, flags=Flag.DSYNC), say(4)], {}),
    "sync of everything": ([create(1), write(2, NEW), (Kind.SYNC, {"stack": 3}), say(4)], {}),
    "nothing persisted": (
        [write(1), write(2)],
        {("nothing-persisted", "", 1, 0): 2},
    ),
    "nothing at all": ([], {}),
    "a mapped file whose stores are not known": ([MAPPED, fsync(3), MSYNC], {}),
    "exchanged": (
        [
            (Kind.RENAME, {"inode": FILE, "path": b"file", "path2": b"other", "flags": Flag.EXCHANGE, "stack": 1}),
            fsync(2, ROOT),
        ],
        {},
    ),
    "moved in from outside": (
        [create(1), write(2, NEW, flags=Flag.IMPORT), fsync(3, ROOT)],
        {},
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_pattern(name: str) -> None:
    events, wanted = EXAMPLES[name]
    assert seen(events) == wanted


MEMORY_EXAMPLES: dict[str, tuple[list[Event], dict[tuple, int]]] = {
    "msync of what was stored": ([MAPPED, stores(1), MSYNC], {}),
    "msync of nothing": ([MAPPED, stores(1), MSYNC, MSYNC], {("redundant-sync", "", 3, 0): 1}),
    "fsync of what was stored": ([MAPPED, stores(1), fsync(2)], {}),
    "msync persists the size, too": (
        [(Kind.TRUNCATE, {"inode": FILE, "length": 8192, "extra": 4, "stack": 5}), MAPPED, stores(1), MSYNC, say(6)],
        {},
    ),
    "msync does not persist what was written elsewhere": (
        [MAPPED, write(5, offset=8192), stores(1), MSYNC, say(6)],
        {("acknowledged-unsynced", "", 5, 6): 1},
    ),
    "a pool is named before it is stored to": (
        [create(1, b"pool", FILE + 5), (Kind.TRUNCATE, {"inode": FILE + 5, "length": 64, "extra": 0, "stack": 2})],
        {("unsynced-entry", "", 1, 0): 1, ("nothing-persisted", "", 1, 0): 3},
    ),
    "persistent memory is mapped when its name is durable": (
        [
            (Kind.UNLINK, {"inode": FILE, "path": b"file"}),
            create(1, b"pool", FILE),
            (Kind.TRUNCATE, {"inode": FILE, "length": 64, "extra": 0, "stack": 2}),
            MAPPED,
            stores(3, flushed=True),
            say(4),
        ],
        {},
    ),
}


@pytest.mark.parametrize("name", MEMORY_EXAMPLES)
def test_pattern_with_stores(name: str) -> None:
    events, wanted = MEMORY_EXAMPLES[name]
    assert seen(events, b"grind 1") == wanted


def test_a_library_is_not_blamed() -> None:
    assert seen([*SYNCED, fsync(3)], internal={3}) == {}


def test_paths_that_the_trace_does_not_know_are_left_out() -> None:
    events = [create(1, b"nowhere/new"), rename(2, b"nowhere/a", b"b", OTHER), *SYNCED]
    assert seen(events) == {}


def test_many_names_and_syncs_take_little_time() -> None:
    """A million steps if each sync looked at all names."""
    events: list[Event] = []
    for number in range(3000):
        events += [create(1, b"f%d" % number, 1000 + number), write(2, 1000 + number), fsync(3, 1000 + number)]
    assert seen(events) == {("unsynced-entry", "file-synced", 1, 0): 3000}

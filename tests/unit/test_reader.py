"""The reader trusts nothing: whatever bytes it gets, it gives a trace that can be worked with, or a UsageError."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powercut.errors import UsageError
from powercut.image.digest import Digester
from powercut.image.state_image import StateImage
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.builtin import BuiltinOracle
from powercut.report.listing import list_trace
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.state_counts import StateCounts
from powercut.states.strategies import queue
from powercut.states.timeline import Timeline
from powercut.trace.layout import (
    ENTRY,
    EVENT,
    EXTENT_HEADER,
    EXTENT_HEADER_SIZE,
    HEADER_SIZE,
    ExtentKind,
    Fence,
    Flush,
    Kind,
    MemoryKind,
    Order,
)
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter


@cache
def sample() -> bytes:
    """A small trace with every kind of event."""
    writer = TraceWriter()
    writer.meta("command", b"sh\0-c\0x")
    writer.meta("dir", b"/data")
    event = writer.event
    event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
    event(Kind.SNAP_DIR, path=b"d", inode=2, extra=0o40755)
    event(Kind.SNAP_FILE, path=b"f", inode=3, length=5, extra=0o100644)
    event(Kind.SNAP_DATA, inode=3, offset=0, data=b"hello")
    event(Kind.SNAP_SYMLINK, path=b"l", inode=4, data=b"f")
    event(Kind.SNAP_OTHER, path=b"p", inode=5, extra=0o10644)
    event(Kind.CREATE, path=b"d/t", inode=6, extra=0o100600)
    event(Kind.WRITE, inode=6, offset=0, data=b"x" * 5000)
    event(Kind.MKDIR, path=b"e", inode=7, extra=0o40700)
    event(Kind.SYMLINK, path=b"e/s", inode=8, data=b"../f")
    event(Kind.MKNOD, path=b"e/q", inode=9, extra=0o10600)
    event(Kind.LINK, path=b"d/t", path2=b"e/t2", inode=6)
    event(Kind.FSYNC, inode=6)
    event(Kind.RENAME, path=b"d/t", path2=b"f", inode=6, extra=3)
    event(Kind.OUTPUT, data=b"saved\n", extra=1)
    event(Kind.TRUNCATE, inode=6, length=100, extra=5000)
    event(Kind.FALLOCATE, inode=6, offset=0, length=8192, extra=0)
    event(Kind.SETATTR, inode=6, extra=0o100400)
    event(Kind.SETXATTR, inode=6, path=b"user.a", data=b"v")
    event(Kind.DELXATTR, inode=6, path=b"user.a")
    event(Kind.CLOSE, inode=6)
    event(Kind.FDATASYNC, inode=6)
    event(Kind.SYNC_RANGE, inode=6, offset=0, length=100)
    event(Kind.MMAP, inode=6, offset=0, length=4096)
    run = [
        (1, 0, 0, 0, MemoryKind.THREAD, 0),
        (6, 0, 0, 1, MemoryKind.FILE, 0),
        (0x4142, 8, 0, 1, MemoryKind.STORE, 2),
        (0x4344, 72, 0, 1, MemoryKind.STORE_NONTEMPORAL, 8),
        (0, 8, 0, 1, MemoryKind.FLUSH, Flush.CLWB),
        (0, 0, 0, 0, MemoryKind.FENCE, Fence.SFENCE),
        (8, 8, 0, 1, MemoryKind.ASSERTION, 14),
        (0x4142, 8, 0, 1, MemoryKind.LOAD, 2),
        (1, 8, 0, 1, MemoryKind.CANDIDATE, 2),
        (1, 0, 0, 0, MemoryKind.EFFECT, 3),
        (4096, 16, 0, 1, MemoryKind.ORDER, Order.LOCK),
        (4096, 0, 0, 1, MemoryKind.UNMAP, 0),
    ]
    writer.memory(run)
    event(Kind.MSYNC, inode=6, offset=0, length=4096, extra=4)
    event(Kind.SYNC)
    event(Kind.SYNCFS, inode=6)
    event(Kind.UNLINK, path=b"e/t2", inode=6, extra=1)
    event(Kind.UNLINK, path=b"e/s", inode=8)
    event(Kind.UNLINK, path=b"e/q", inode=9)
    event(Kind.RMDIR, path=b"e", inode=7)
    event(Kind.EXEC, path=b"/bin/sh")
    event(Kind.FORK, extra=2)
    event(Kind.NOTE, data=b"a note", extra=1)
    event(Kind.SIGNAL, extra=11, offset=1 << 63)
    event(Kind.EXIT, extra=0)
    writer.meta("exit", b"exited 0")
    return writer.to_bytes()


def extents(kind: ExtentKind) -> tuple[int, int]:
    """Where the payload of the one extent of a kind lies in the sample."""
    content, position = sample(), HEADER_SIZE
    while True:
        header = np.frombuffer(content, EXTENT_HEADER, 1, position)[0]
        if header["kind"] == kind:
            return position + EXTENT_HEADER_SIZE, int(header["used"])
        position += EXTENT_HEADER_SIZE + int(header["capacity"])


def work_with(content: bytes) -> Trace | None:
    """Do with a trace what the commands do; None if it was refused."""
    try:
        trace = Trace(content, "t")
        lines = list(list_trace(trace))
        assert len(lines) >= len(trace.events)
        assert trace.notes() is not None and trace.command is not None and trace.folder is not None
        for row in FILE_SYSTEMS.values():
            use(Timeline(trace, row))
    except UsageError:
        return None
    return trace


def use(timeline: Timeline) -> None:
    """Ask a timeline what a search asks."""
    digester = Digester(timeline)
    oracle = BuiltinOracle(timeline)
    StateCounts(timeline).total()
    for _, state in islice(queue(timeline, 0), 10):
        assert timeline.is_possible(state)
        timeline.acked(state.point)
        digester.digest(state)
        oracle.judge(timeline, state)
        walk(timeline, state)
    for update in range(len(timeline.updates)):
        timeline.describe(update)


def walk(timeline: Timeline, state: State) -> None:
    """Every name of an image leads somewhere, and none into itself."""
    image = StateImage(timeline, state)
    waiting = [(0, 0)]
    while waiting:
        folder, depth = waiting.pop()
        assert depth < 50, "a folder holds itself"
        for obj in image.entries(folder).values():
            if image.kind(obj) is ObjectKind.FOLDER:
                waiting.append((obj, depth + 1))


def test_the_sample_itself_is_fine_and_has_every_kind() -> None:
    trace = work_with(sample())
    assert trace is not None
    assert not trace.truncated
    looks = {kind for kind in Kind if kind.name.startswith("LOOK_")}  # they stand in traces of their own
    assert set(trace.events["kind"].tolist()) == set(map(int, set(Kind) - looks))


def test_cut_anywhere() -> None:
    """What remains is a prefix, and says so once its first event is there: all else comes before in this sample."""
    content = sample()
    whole = Trace(content, "t")
    first, _ = extents(ExtentKind.EVENTS)
    for length in range(0, len(content), 29):
        try:
            trace = Trace(content[:length], "t")
        except UsageError:
            continue
        assert trace.truncated or length < first
        assert trace.events[:].tobytes() == whole.events[: len(trace.events)].tobytes()


FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(st.binary(max_size=400))
def test_random_bytes(content: bytes) -> None:
    work_with(content)


@FUZZ
@given(st.binary(max_size=400))
def test_random_bytes_behind_a_good_header(content: bytes) -> None:
    work_with(sample()[:HEADER_SIZE] + content)


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(sample()) - 1), st.integers(0, 255)), min_size=1, max_size=5))
def test_flipped_bytes(flips: list[tuple[int, int]]) -> None:
    content = bytearray(sample())
    for position, value in flips:
        content[position] = value
    work_with(bytes(content))


NUMBERS = st.one_of(st.integers(0, 10), st.sampled_from([2**16, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]))


def field_changes(kind: ExtentKind, dtype: np.dtype[np.void]) -> st.SearchStrategy[list[tuple[int, str, int]]]:
    _, used = extents(kind)
    one = st.tuples(st.integers(0, used // dtype.itemsize - 1), st.sampled_from(dtype.names or ()), NUMBERS)
    return st.lists(one, min_size=1, max_size=4)


def with_fields(kind: ExtentKind, dtype: np.dtype[np.void], changes: list[tuple[int, str, int]]) -> bytes:
    content = bytearray(sample())
    start, used = extents(kind)
    records = np.frombuffer(content, dtype, used // dtype.itemsize, start)
    for index, field, value in changes:
        width = records.dtype[field].itemsize
        records[index][field] = value % 2 ** (8 * width)
    return bytes(content)


@FUZZ
@given(field_changes(ExtentKind.EVENTS, EVENT))
def test_events_that_make_no_sense(changes: list[tuple[int, str, int]]) -> None:
    work_with(with_fields(ExtentKind.EVENTS, EVENT, changes))


@FUZZ
@given(field_changes(ExtentKind.TABLE, ENTRY))
def test_entries_that_make_no_sense(changes: list[tuple[int, str, int]]) -> None:
    work_with(with_fields(ExtentKind.TABLE, ENTRY, changes))


@FUZZ
@given(st.permutations(range(35)), st.integers(0, 35))
def test_events_in_any_order(order: list[int], count: int) -> None:
    """Names of things that are not there, folders in themselves, syncs of nothing."""
    content = bytearray(sample())
    start, used = extents(ExtentKind.EVENTS)
    records = np.frombuffer(content, EVENT, used // EVENT.itemsize, start)
    records[: len(order)] = records[order]
    work_with(bytes(content))


def test_an_extent_that_leads_back_or_nowhere_does_not_hang() -> None:
    header = np.frombuffer(sample(), EXTENT_HEADER, 1, HEADER_SIZE).copy()
    for capacity in (0, 64, 2**63, 2**64 - 64):
        header["capacity"], header["used"] = capacity, 0
        content = sample()[:HEADER_SIZE] + header.tobytes() * 50
        work_with(content)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError) as caught:
            Trace.open(path)
        assert caught.value.slug in ("trace-unreadable", "trace-broken")

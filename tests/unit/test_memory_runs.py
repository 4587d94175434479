"""Runs of memory records are opened up to events in their place; runs that no tracer writes are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut.errors import UsageError
from powercut.trace.layout import EVENT, Fence, Flag, Flush, Kind, MemoryKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

INODES = {1: 501, 2: 502}

stores = st.tuples(
    st.just("store"), st.sampled_from([1, 2]), st.integers(0, 500), st.binary(min_size=1, max_size=8), st.integers(7, 9)
)
flushes = st.tuples(st.just("flush"), st.sampled_from([1, 2]), st.integers(0, 500), st.sampled_from(Flush))
fences = st.tuples(st.just("fence"), st.sampled_from(Fence))
happenings = st.one_of(stores, flushes, fences)
pieces = st.lists(st.tuples(st.integers(1, 3), st.integers(10, 12), st.lists(happenings, max_size=6)), max_size=8)


def record(happening: tuple) -> tuple[int, int, int, int, int, int]:
    what, *rest = happening
    if what == "store":
        file, word, data, _ = rest
        return (int.from_bytes(data, "little"), word * 8, 0, file, MemoryKind.STORE, len(data))
    if what == "flush":
        file, offset, how = rest
        return (0, offset, 0, file, MemoryKind.FLUSH, how)
    return (0, 0, 0, 0, MemoryKind.FENCE, rest[0])


def expected(trace: Trace, happening: tuple) -> tuple:
    what, *rest = happening
    if what == "store":
        return (Kind.STORE, INODES[rest[0]], rest[1] * 8, rest[2])
    if what == "flush":
        return (Kind.FLUSH, INODES[rest[0]], rest[1] // 64 * 64, rest[2])
    return (Kind.FENCE, 0, 0, rest[0])


def found(trace: Trace, event) -> tuple:
    if event["kind"] == Kind.STORE:
        last: object = trace.blob(int(event["data"]), int(event["length"]))
    else:
        last = event["extra"]
    return (event["kind"], event["inode"], event["offset"], last)


@given(pieces)
def test_runs_stand_where_they_were_written(runs: list[tuple[int, int, list[tuple]]]) -> None:
    writer, wanted = TraceWriter(), []
    seen = set()
    for pid, tid, some in runs:
        records = [(tid, 0, 0, 0, MemoryKind.THREAD, 0)]
        if pid not in seen:
            records += [(inode, 0, 0, file, MemoryKind.FILE, 0) for file, inode in INODES.items()]
            seen.add(pid)
        writer.memory([*records, *(record(h) for h in some)], pid=pid)
        writer.event(Kind.SYNC, pid=pid, tid=tid)
        wanted += [(pid, tid, Kind.MEMORY)] * len(records) + [(pid, tid, h) for h in some] + [(pid, tid, Kind.SYNC)]
    trace = writer.trace()
    assert len(trace.events) == len(wanted)
    for event, (pid, tid, happening) in zip(trace.events, wanted, strict=True):
        assert (event["pid"], event["tid"]) == (pid, tid)
        if isinstance(happening, Kind):
            assert event["kind"] == happening
        else:
            assert found(trace, event) == expected(trace, happening)
    assert_columns_and_rows_agree(trace)


def assert_columns_and_rows_agree(trace: Trace) -> None:
    rows = trace.events[:]
    for name in EVENT.names:
        assert trace.events[name].tolist() == rows[name].tolist(), name
    some = np.arange(0, len(rows), 3)
    assert trace.events[some].tolist() == rows[some].tolist()
    for kind in (Kind.STORE, Kind.FLUSH, Kind.SYNC):
        assert trace.inodes(kind) == set(rows["inode"][rows["kind"] == kind].tolist())


def test_threads_switch_inside_a_run_and_stores_have_flags() -> None:
    writer = TraceWriter()
    rest = MemoryKind.STORE_NONTEMPORAL | MemoryKind.REST
    writer.memory(
        [
            (7, 0, 0, 0, MemoryKind.THREAD, 0),
            (501, 0, 0, 1, MemoryKind.FILE, 0),
            (1, 0, 0, 1, MemoryKind.STORE_LOCKED, 8),
            (8, 0, 0, 0, MemoryKind.THREAD, 0),
            (2, 8, 0, 1, MemoryKind.STORE_NONTEMPORAL, 8),
            (3, 16, 0, 1, rest, 8),
            (4, 24, 0, 1, MemoryKind.STORE_KERNEL, 1),
            (4096, 0, 0, 1, MemoryKind.UNMAP, 0),
        ]
    )
    events = writer.trace().events
    assert events["tid"].tolist() == [7, 7, 7, 8, 8, 8, 8, 8]
    flags = [0, 0, Flag.LOCKED, 0, Flag.NONTEMPORAL, Flag.NONTEMPORAL | Flag.REST, Flag.KERNEL, 0]
    assert events["flags"].tolist() == flags
    assert events["length"].tolist() == [0, 0, 8, 0, 8, 8, 1, 4096]


def test_a_file_number_means_what_its_process_said_last() -> None:
    writer = TraceWriter()
    for pid, inode in ((1, 501), (2, 502), (1, 503)):
        writer.memory([(inode, 0, 0, 1, MemoryKind.FILE, 0), (1, 0, 0, 1, MemoryKind.STORE, 8)], pid=pid)
        writer.memory([(1, 8, 0, 1, MemoryKind.STORE, 8)], pid=1)
    events = writer.trace().events
    assert events["inode"][events["kind"] == Kind.STORE].tolist() == [501, 501, 502, 501, 503, 503]


@pytest.mark.parametrize(
    "bad",
    [
        (1, 0, 0, 1, MemoryKind.STORE, 8),  # of no file
        (1, 0, 0, 0, 77, 0),
        (1, 0, 0, 0, MemoryKind.STORE, 0),
        (1, 4, 0, 0, MemoryKind.STORE, 8),  # across words
        (1, 1 << 60, 0, 0, MemoryKind.STORE, 8),  # no file is that long
    ],
)
def test_impossible_records_are_refused(bad: tuple) -> None:
    writer = TraceWriter()
    if bad[3] == 0:
        writer.memory([(501, 0, 0, 0, MemoryKind.FILE, 0), bad])
    else:
        writer.memory([bad])
    with pytest.raises(UsageError, match="memory record"):
        writer.trace()


def test_a_run_outside_the_file_is_refused() -> None:
    writer = TraceWriter()
    writer.event(Kind.MEMORY, length=24)
    writer._events[-1] = (*writer._events[-1][:8], 1 << 40, *writer._events[-1][9:])
    with pytest.raises(UsageError, match="outside the file"):
        writer.trace()


def test_a_memory_event_outside_a_run_is_refused() -> None:
    writer = TraceWriter()
    writer.event(Kind.STORE, inode=1, data=b"x")
    with pytest.raises(UsageError, match="outside a run"):
        writer.trace()


def test_a_stack_that_is_not_there_is_refused() -> None:
    writer = TraceWriter()
    writer.memory([(501, 0, 0, 1, MemoryKind.FILE, 0), (1, 0, 9, 1, MemoryKind.STORE, 8)])
    with pytest.raises(UsageError, match="missing"):
        writer.trace()

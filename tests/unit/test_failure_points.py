"""Failure points: the persistency instructions with a change before them, each call stack once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.failure_points import Granularity, coverage_curve, failure_points, tree_of
from powercut.states.strategies import STRATEGIES
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline
from powercut.trace.layout import Fence, Flush, Kind, MemoryKind, TableKind
from powercut.trace.writer import TraceWriter

STORE, NT, LOCKED = MemoryKind.STORE, MemoryKind.STORE_NONTEMPORAL, MemoryKind.STORE_LOCKED
records = st.lists(
    st.tuples(
        st.sampled_from([STORE, STORE, NT, LOCKED, MemoryKind.FLUSH, MemoryKind.FENCE]),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    max_size=40,
)


def timeline_of(happenings: list[tuple[MemoryKind, int, int]]) -> Timeline:
    writer = TraceWriter()
    writer.event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
    writer.event(Kind.SNAP_FILE, path=b"pool", inode=2, length=4096, extra=0o100644)
    for number in range(4):
        writer.entry(TableKind.STACK, bytes(16 * (number + 1)))
    run = [(2, 0, 0, 1, MemoryKind.FILE, 0)]
    for number, (kind, line, stack) in enumerate(happenings):
        size = {MemoryKind.FLUSH: Flush.CLWB, MemoryKind.FENCE: Fence.SFENCE}.get(kind, 8)
        run.append((number, line * 64, stack, 1, kind, size))
    writer.memory(run)
    return Timeline(writer.trace(), FILE_SYSTEMS["ext4-ordered"])


@given(records)
def test_points_are_those_of_the_definition(happenings: list[tuple[MemoryKind, int, int]]) -> None:
    """Walk the run as the paper does: a tree of stacks, filled while the program runs."""
    expected: dict[int, list[int]] = {}
    changed = False
    for number, (kind, _, stack) in enumerate(happenings):
        if kind is not STORE and changed:
            expected.setdefault(stack, []).append(number + 3)  # the snapshot and the file's record come first
            changed = False
        changed = changed or kind in (STORE, NT, LOCKED)
    found = failure_points(timeline_of(happenings))
    assert {point.stack: (point.event, point.count) for point in found} == {
        stack: (events[0], len(events)) for stack, events in expected.items()
    }
    assert [point.event for point in found] == sorted(point.event for point in found)


def test_every_store_is_a_point_at_the_finer_granularity() -> None:
    timeline = timeline_of([(STORE, 0, 1), (STORE, 1, 2), (MemoryKind.FENCE, 0, 3), (STORE, 0, 1)])
    points = failure_points(timeline, Granularity.STORE)
    assert [(point.event, point.stack, point.count) for point in points] == [(3, 1, 2), (4, 2, 1)]


def test_the_state_of_a_point_holds_all_before_it() -> None:
    timeline = timeline_of([(STORE, 0, 1), (MemoryKind.FLUSH, 0, 2), (STORE, 1, 3), (MemoryKind.FENCE, 0, 4)])
    first, second = failure_points(timeline)
    assert [timeline.issued(point.state.point) for point in (first, second)] == [1, 2]
    assert all(timeline.is_possible(point.state) for point in (first, second))


def test_sync_calls_are_points_of_programs_that_use_files() -> None:
    writer = TraceWriter()
    for number in range(3):
        writer.entry(TableKind.STACK, bytes(16 * (number + 1)))
    writer.event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
    writer.event(Kind.CREATE, path=b"f", inode=2, extra=0o100644)
    for stack in (1, 1, 2):
        writer.event(Kind.WRITE, inode=2, offset=0, data=b"x")
        writer.event(Kind.FSYNC, inode=2, stack=stack)
        writer.event(Kind.FSYNC, inode=2, stack=3)  # nothing new to sync
    points = failure_points(Timeline(writer.trace(), FILE_SYSTEMS["ext4-ordered"]))
    assert [(point.event, point.stack, point.count) for point in points] == [(3, 1, 2), (9, 2, 1)]


def test_curve_and_tree_count_what_was_reached() -> None:
    happenings = [pair for stack in (1, 1, 2, 3) for pair in ((STORE, 0, 4), (MemoryKind.FENCE, 0, stack))]
    timeline = timeline_of(happenings)
    points = failure_points(timeline)
    curve = coverage_curve(timeline, points)
    assert curve[-1] == (len(timeline.trace.events), 3)
    assert [known for _, known in curve] == sorted(known for _, known in curve)
    tree = tree_of([(5, ["fence", "put", "main"]), (7, ["fence", "put", "main"]), (9, ["fence", "del", "main"])])
    assert tree.points == 3
    assert {name: node.points for name, node in tree.calls["main"].calls.items()} == {"put": 2, "del": 1}


def test_the_names_of_strategies_are_those_that_exist() -> None:
    assert tuple(STRATEGIES) == STRATEGY_NAMES

"""Zeros that are written where a file never held anything are no updates; all others are."""

from __future__ import annotations

import pytest

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Kind
from powercut.trace.writer import TraceWriter

BLOCK = 4096


def data_updates(fs: str, *writes: tuple[int, bytes], held: bytes = b"") -> list[tuple[int, int]]:
    """Offset and length of the data updates of some writes to a file."""
    writer = TraceWriter()
    writer.event(Kind.SNAP_DIR, inode=1, path=b"", extra=0o40755)
    writer.event(Kind.SNAP_FILE, inode=2, path=b"log", extra=0o100644, length=len(held))
    if held:
        writer.event(Kind.SNAP_DATA, inode=2, data=held)
    for offset, data in writes:
        writer.event(Kind.WRITE, inode=2, offset=offset, data=data)
    updates = Timeline(writer.trace(), FILE_SYSTEMS[fs]).updates
    chosen = [number for number, kind in enumerate(updates.kind) if kind == UpdateKind.DATA]
    return [(updates.start[number], updates.length[number]) for number in chosen]


@pytest.mark.parametrize("fs", ["ext4-ordered", "xfs", "btrfs"])
def test_zeros_over_nothing(fs: str) -> None:
    assert data_updates(fs, (0, bytes(4 * BLOCK)), (BLOCK, b"x")) == [(BLOCK, 1)]
    assert data_updates(fs, (0, bytes(BLOCK)), (0, bytes(BLOCK))) == []


@pytest.mark.parametrize("fs", ["ext4-ordered", "xfs", "btrfs"])
def test_zeros_over_something(fs: str) -> None:
    assert data_updates(fs, (0, b"x"), (0, b"\0")) == [(0, 1), (0, 1)]
    assert data_updates(fs, (0, bytes(2)), held=b"held") == [(0, 2)]
    assert data_updates(fs, (4, bytes(2)), held=b"held") == []
    assert data_updates(fs, (0, b"\0x")) == [(0, 2)]


@pytest.mark.parametrize("fs", ["ext4-ordered", "xfs", "btrfs"])
def test_zeros_over_the_zeros_of_a_file_that_was_there(fs: str) -> None:
    """A log that a database filled when it was made, and whose rest it fills again when it goes on to the next."""
    log = b"records" + bytes(3 << 20)
    assert data_updates(fs, (7, bytes(BLOCK)), (BLOCK, bytes(BLOCK)), held=log) == []
    assert data_updates(fs, (6, bytes(2)), held=log) == [(6, 2)]
    assert data_updates(fs, (2 << 20, b"x"), (2 << 20, b"\0"), (3 << 20, b"\0"), held=log) == [(2 << 20, 1)] * 2
    assert data_updates(fs, (0, bytes(BLOCK)), held=bytes(2 << 20)) == []


@pytest.mark.parametrize("fs", ["posix", "ext4-writeback", "ext4-journal"])
def test_zeros_where_garbage_would_show_or_more_waits_for_them(fs: str) -> None:
    assert data_updates(fs, (0, bytes(BLOCK))) != []

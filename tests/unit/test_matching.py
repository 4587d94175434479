"""What counts in an image, what an answer says, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import powercut
from powercut.errors import EnvironmentFailure, UsageError
from powercut.matching import read_folder as folder_module
from powercut.matching.matcher import Matcher
from powercut.matching.observed import Node, ObservedImage, file_node, folder_node, link_node
from powercut.matching.read_folder import read_folder
from powercut.matching.result import MatchResult
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.objects import ObjectKind
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

BLOCK = 4096
GIB = 1 << 30


def start(writer: TraceWriter) -> None:
    writer.event(Kind.SNAP_DIR, inode=1, path=b"", extra=0o40755, pid=0)


def create(writer: TraceWriter, path: bytes, inode: int, mode: int = 0o100644) -> None:
    writer.event(Kind.CREATE, inode=inode, path=path, extra=mode)


def say(writer: TraceWriter, text: bytes) -> int:
    return writer.event(Kind.OUTPUT, data=text, extra=1)


def counting() -> Trace:
    """A program that begins and ends three transactions, each a line of a log."""
    writer = TraceWriter()
    start(writer)
    create(writer, b"log", 2)
    for number in range(3):
        say(writer, b"b%d\n" % number)
        writer.event(Kind.WRITE, inode=2, offset=2 * number, data=b"%d\n" % number)
        writer.event(Kind.FSYNC, inode=2)
        say(writer, b"e%d\n" % number)
    return writer.trace()


def log(content: bytes, mode: int = 0o644) -> ObservedImage:
    return ObservedImage({b"log": file_node(content, mode)})


def ask(trace: Trace, nodes: dict[bytes, Node], fs: str = "ext4-ordered") -> MatchResult:
    return powercut.match(trace, ObservedImage(nodes), fs)


def test_an_answer_names_moments_and_losses() -> None:
    (row,) = powercut.match(counting(), log(b"0\n1\n\0\0"), "xfs").rows
    (moment,) = row.moments
    assert moment.begins == "event 11 (the write of 2 bytes at offset 4 to log)"
    assert moment.ends == "event 12 (fsync of log) had returned"
    assert (moment.printed, moment.printed_at_last) == ("b2", "b2")
    assert row.fate is not None
    assert row.fate.survived == ("the growth of log to 6 bytes (event 11)",)
    assert row.fate.lost == ("bytes 4 to 6 of log (event 11)",)


def test_all_rows_are_asked_by_default() -> None:
    result = powercut.match(counting(), log(b"0\n1\n\0\0"))
    assert [row.fs for row in result.rows] == list(FILE_SYSTEMS)
    possible = {row.fs for row in result.rows if row.possible}
    assert possible == set(FILE_SYSTEMS) - {"ext4-journal"}  # where a size never outruns its data
    assert result.possible
    assert result.decided


@pytest.mark.parametrize(
    ("after", "before", "possible"),
    [
        (None, None, True),
        ("e1", None, False),
        (None, "e1", True),
        ("b1", "e1", True),
        ("e0", "b1", False),
        (None, "b1", False),
        (7, None, True),
        ("8", None, False),  # the sync of the second line is over
        (None, 7, False),
        (None, 8, True),
    ],
)
def test_only_moments_in_the_window_count(after: str | int | None, before: str | int | None, possible: bool) -> None:
    """The image lacks the second line, whose size survived."""
    result = powercut.match(counting(), log(b"0\n\0\0"), fs="xfs", after=after, before=before)
    assert result.possible is possible


def test_of_a_line_that_was_printed_twice_the_window_is_the_widest() -> None:
    writer = TraceWriter()
    start(writer)
    say(writer, b"tick\n")
    create(writer, b"a", 2)
    say(writer, b"ti")
    say(writer, b"ck\n")
    trace = writer.trace()
    there, gone = ObservedImage({b"a": file_node(b"")}), ObservedImage({})
    assert powercut.match(trace, there, after="tick").possible
    assert powercut.match(trace, there, before="tick").possible
    assert powercut.match(trace, gone, after="tick").possible


def test_garbage_may_be_anything_on_rows_that_show_it() -> None:
    for shown in (b"\0\0", b"zz", b"2\n"):
        assert powercut.match(counting(), log(b"0\n1\n" + shown), "ext4-writeback").possible
    assert not powercut.match(counting(), log(b"0\n1\nzz"), "ext4-ordered").possible
    assert not powercut.match(counting(), log(b"0\nz\n\0\0"), "ext4-writeback").possible


def test_an_impossible_image_has_a_nearest_state() -> None:
    (row,) = powercut.match(counting(), log(b"0\nX\n2\n", 0o600), "xfs").rows
    assert not row.possible
    assert row.decided
    assert {(d.path, d.what) for d in row.differences} == {
        (b"log", "mode 0600 instead of 0644"),
        (b"log", "bytes 2 to 3 differ"),
    }


def test_what_differs_is_said_of_each_kind() -> None:
    writer = TraceWriter()
    start(writer)
    writer.event(Kind.MKDIR, inode=2, path=b"d", extra=0o40755)
    create(writer, b"d/f", 3)
    writer.event(Kind.SYMLINK, inode=4, path=b"l", data=b"d/f")
    writer.event(Kind.SETXATTR, inode=3, path=b"user.v", data=b"1")
    writer.event(Kind.SYNC)
    say(writer, b"done\n")
    nodes = {b"d": folder_node(0o700), b"d/f": file_node(b"x", None, {}), b"l": link_node(b"d"), b"n": file_node(b"")}
    (row,) = powercut.match(writer.trace(), ObservedImage(nodes), "xfs", after="done").rows
    assert [(d.path, d.what) for d in row.differences] == [
        (b"d", "mode 0700 instead of 0755"),
        (b"d/f", "attribute user.v missing instead of '1'"),
        (b"d/f", "1 bytes long instead of 0"),
        (b"l", "points to d instead of d/f"),
        (b"n", "a file that should not exist"),
    ]
    (row,) = powercut.match(writer.trace(), ObservedImage({b"l": folder_node()}), "xfs", after="done").rows
    assert [(d.path, d.what) for d in row.differences] == [
        (b"d", "missing; should be a folder"),
        (b"l", "a folder instead of a symbolic link"),
    ]


def test_two_names_of_one_file_must_both_fit() -> None:
    writer = TraceWriter()
    start(writer)
    create(writer, b"a", 2)
    writer.event(Kind.LINK, inode=2, path=b"a", path2=b"b")
    writer.event(Kind.SYNC)
    writer.event(Kind.WRITE, inode=2, offset=0, data=b"x")
    trace = writer.trace()
    assert ask(trace, {b"a": file_node(b"x"), b"b": file_node(b"x")}).possible
    assert ask(trace, {b"a": file_node(b""), b"b": file_node(b"")}).possible
    assert not ask(trace, {b"a": file_node(b"x"), b"b": file_node(b"")}).possible


def test_a_name_may_stand_for_either_of_two_files() -> None:
    writer = TraceWriter()
    start(writer)
    create(writer, b"f", 2)
    writer.event(Kind.WRITE, inode=2, offset=0, data=b"old")
    writer.event(Kind.SYNC)
    create(writer, b"t", 3)
    writer.event(Kind.WRITE, inode=3, offset=0, data=b"new")
    writer.event(Kind.RENAME, inode=3, path=b"t", path2=b"f")
    trace = writer.trace()
    assert ask(trace, {b"f": file_node(b"old")}, "xfs").possible
    assert ask(trace, {b"f": file_node(b"new")}, "xfs").possible
    assert ask(trace, {b"f": file_node(b"")}, "xfs").possible
    assert ask(trace, {b"f": file_node(b"old"), b"t": file_node(b"new")}, "xfs").possible
    empty = ObservedImage({b"f": file_node(b"")})
    assert powercut.match(trace, empty, "xfs", after=3).possible
    assert not powercut.match(trace, empty, "ext4-journal", after=3).possible
    assert not ask(trace, {b"f": file_node(b"new"), b"t": file_node(b"new")}, "xfs").possible
    assert ask(trace, {b"f": file_node(b"new"), b"t": file_node(b"new")}, "posix").possible


def test_attributes_count_where_the_trace_tells_them() -> None:
    writer = TraceWriter()
    start(writer)
    writer.event(Kind.SNAP_FILE, inode=2, path=b"old", extra=0o100644, length=0, pid=0)
    create(writer, b"new", 3)
    for inode in (2, 3):
        writer.event(Kind.SETXATTR, inode=inode, path=b"user.v", data=b"1")
        writer.event(Kind.SETXATTR, inode=inode, path=b"user.v", data=b"2")
    trace = writer.trace()

    def possible(old: dict[bytes, bytes] | None, new: dict[bytes, bytes] | None) -> bool:
        return ask(trace, {b"old": file_node(b"", None, old), b"new": file_node(b"", None, new)}).possible

    assert possible({b"user.v": b"2"}, {b"user.v": b"2"})
    assert possible({b"user.v": b"2"}, {b"user.v": b"1"})
    assert not possible({b"user.v": b"1"}, {b"user.v": b"2"})  # the journal keeps their order
    assert possible(None, {b"user.v": b"2"})
    assert possible({b"user.before": b"x", b"user.v": b"0"}, {})  # the snapshot tells no attributes
    assert not possible({}, {b"user.other": b"x"})
    assert not possible({}, {b"user.v": b"3"})
    assert possible({b"security.x": b"y"}, {b"security.x": b"y"})


def test_what_the_program_never_touched_is_as_in_the_snapshot() -> None:
    writer = TraceWriter()
    start(writer)
    writer.event(Kind.SNAP_FILE, inode=2, path=b"f", extra=0o100600, length=3 * BLOCK, pid=0)
    writer.event(Kind.SNAP_DATA, inode=2, offset=0, data=b"a" * BLOCK, pid=0)
    writer.event(Kind.WRITE, inode=2, offset=2 * BLOCK, data=b"c")
    trace = writer.trace()
    whole = b"a" * BLOCK + bytes(2 * BLOCK)
    changed = b"a" * BLOCK + bytes(BLOCK) + b"c".ljust(BLOCK, b"\0")
    for content, possible in (
        (whole, True),
        (changed, True),
        (b"b" + whole[1:], False),
        (whole[:-1], False),
        (changed[:-1] + b"c", False),
    ):
        assert ask(trace, {b"f": file_node(content, 0o600)}).possible is possible
    assert not ask(trace, {b"f": file_node(whole, 0o644)}).possible
    assert not ask(trace, {b"f": file_node(whole), b"g": file_node(b"")}).possible
    assert not ask(trace, {}).possible


def sparse_trace(size: int) -> Trace:
    writer = TraceWriter()
    start(writer)
    create(writer, b"big", 2)
    writer.event(Kind.TRUNCATE, inode=2, length=size)
    writer.event(Kind.WRITE, inode=2, offset=size // 2, data=b"middle")
    return writer.trace()


@pytest.mark.parametrize(("data", "possible"), [(b"middle", True), (b"", True), (b"muddle", False)])
def test_holes_of_huge_files_cost_nothing(tmp_path: Path, data: bytes, possible: bool) -> None:
    size = 512 * GIB
    with open(tmp_path / "big", "wb") as file:
        file.truncate(size)
        if data:
            os.pwrite(file.fileno(), data, size // 2)
    (tmp_path / "big").chmod(0o644)
    result = powercut.match(sparse_trace(size), tmp_path, "xfs")
    assert result.possible is possible
    if not possible:
        at = size // 2 + 1
        assert [d.what for d in result.rows[0].differences] == [f"bytes {at} to {at + 1} differ"]


def test_a_folder_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o750)
    (tmp_path / "d" / "f").write_bytes(b"x")
    (tmp_path / "d" / "f").chmod(0o640)
    (tmp_path / "l").symlink_to("d/f")
    os.mkfifo(tmp_path / "p")
    image = read_folder(tmp_path)
    assert set(image.nodes) == {b"", b"d", b"d/f", b"l", b"p"}
    assert image.nodes[b"d"].mode == 0o750
    assert image.nodes[b"d/f"].content.read(0, 9) == b"x"
    assert image.nodes[b"l"].target == b"d/f"
    assert image.nodes[b"p"].kind is ObjectKind.OTHER


def test_a_special_file_that_the_program_never_made_is_a_difference(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"0\n")
    (tmp_path / "log").chmod(0o644)
    os.mkfifo(tmp_path / "pipe")
    (row,) = powercut.match(counting(), tmp_path, "xfs").rows
    assert not row.possible
    assert [d.what for d in row.differences] == ["a special file that should not exist"]


def refused(image: object, **options: object) -> tuple[type, str]:
    with pytest.raises((UsageError, EnvironmentFailure)) as error:
        powercut.match(counting(), image, **options)  # type: ignore[arg-type]
    return type(error.value), error.value.slug


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(tmp_path / "nothing") == (UsageError, "no-image")
    assert refused(tmp_path / "file") == (UsageError, "no-image")
    assert refused(tmp_path) == (UsageError, "image-foreign")
    assert refused(log(b""), after="never") == (UsageError, "no-such-moment")
    assert refused(log(b""), before=99) == (UsageError, "no-such-moment")
    assert refused(log(b""), after="e2", before="b0") == (UsageError, "empty-window")
    assert refused(log(b""), fs="zfs") == (UsageError, "unknown-fs")
    with pytest.raises(UsageError, match="bad-image"):
        ObservedImage({b"a/b": file_node(b"")})


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"0\n")
    (tmp_path / "log").chmod(0)
    assert refused(tmp_path) == (EnvironmentFailure, "image-unreadable")


def test_a_file_that_vanishes_or_shrinks_is_an_error(tmp_path: Path) -> None:
    large = tmp_path / "log"
    large.write_bytes(bytes(folder_module._SMALL + 1))
    image = read_folder(tmp_path)
    large.write_bytes(b"")
    assert refused(image) == (EnvironmentFailure, "image-changed")
    large.unlink()
    assert refused(image) == (EnvironmentFailure, "image-unreadable")


def cut(trace_of: TraceWriter) -> Trace:
    """The trace of a tracer that was killed: it never says how the program ended."""
    return Trace(trace_of.to_bytes(), "cut.trace")


def test_a_trace_that_was_cut_decides_only_what_it_holds() -> None:
    writer = TraceWriter()
    start(writer)
    create(writer, b"log", 2)
    writer.event(Kind.WRITE, inode=2, offset=0, data=b"0\n")
    say(writer, b"e0\n")
    trace = cut(writer)
    assert trace.truncated
    found = powercut.match(trace, log(b"0\n"), "xfs")
    assert found.possible
    assert found.notes
    unknown = powercut.match(trace, log(b"0\n1\n"), "xfs")
    assert (unknown.possible, unknown.decided) == (False, False)
    assert unknown.rows[0].doubt.startswith("the trace is truncated")
    before = powercut.match(trace, log(b"0\n1\n"), "xfs", before="e0")  # which the trace holds whole
    assert (before.possible, before.decided) == (False, True)
    foreign = powercut.match(trace, ObservedImage({b"other": file_node(b"")}), "xfs")
    assert (foreign.possible, foreign.decided) == (False, False)


def test_a_trace_that_was_cut_in_its_snapshot_is_refused() -> None:
    writer = TraceWriter()
    start(writer)
    with pytest.raises(UsageError, match="trace-cut"):
        powercut.match(cut(writer), ObservedImage({}))


def test_stores_that_nobody_saw_are_not_held_against_an_image() -> None:
    writer = TraceWriter()
    start(writer)
    create(writer, b"log", 2)
    writer.event(Kind.TRUNCATE, inode=2, length=8)
    writer.event(Kind.MMAP, inode=2, offset=0, length=8)
    result = powercut.match(writer.trace(), log(b"stored!!"), "xfs")
    assert (result.possible, result.decided) == (False, False)
    assert "stored to log through a mapping" in result.rows[0].doubt


def test_a_search_that_is_given_up_decides_nothing() -> None:
    timeline = Timeline(counting(), FILE_SYSTEMS["xfs"])
    for content in (b"0\n", b"0\n\0\0"):
        found = Matcher(timeline, most_steps=0).match(log(content))
        assert (found.possible, found.decided) == (False, False)


def test_the_matcher_takes_a_folder(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"0\n")
    (tmp_path / "log").chmod(0o644)
    found = Matcher(Timeline(counting(), FILE_SYSTEMS["xfs"])).match(tmp_path)
    assert found.possible
    assert [(span.first, span.last) for span in found.spans] == [(6, 16)]

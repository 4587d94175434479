"""The crashed folder against the folder at the moment of the crash: a tree, and the bytes that differ.

Before: two states of a timeline. After: every path that differs, the folders that it is in and some of the others; of a
file that differs, its lines (where both sides are text) and its rows of bytes, only those with a difference and the
first of many. What cannot differ is not read, so that a large folder costs what its difference costs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from powercut.image.state_image import StateImage, files_of
from powercut.model.filesystem import BLOCK
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.timeline import Timeline

_MOST_CHANGED, _MOST_SAME = 60, 12  # paths
_COMPARED = 1 << 20  # bytes of a file
_ROW = 16
_MOST_ROWS, _MOST_LINES = 32, 60
_WIDEST = 400  # letters of a line
_MOST_COMPARED = 2000  # lines; difflib is slow on more
_PRINTABLE = range(0x20, 0x7F)
Cell = tuple[str, str, bool]  # a byte in hexadecimal, as a character, and whether it differs
Line = tuple[str, str]  # what a line of a difference is: gone, new, same or a place; and its text
Piece = tuple[int, bytes, bytes]  # what both sides hold from an offset on


@dataclass(frozen=True, slots=True)
class Row:
    """16 bytes of both sides from one offset on."""

    offset: int
    before: list[Cell]
    after: list[Cell]


@dataclass(frozen=True, slots=True)
class FileDifference:
    """One path.

    Attributes:
        change: what became of it, in a word or two; empty if it is as it was.
        more: whether there are more rows than are shown.
    """

    path: str
    depth: int
    change: str
    size: str
    lines: list[Line]
    rows: list[Row]
    more: bool = False


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """The paths that are shown, in the order of a tree, and how many more there are of each sort."""

    files: list[FileDifference]
    more_changed: int
    more_same: int


def compare_folders(timeline: Timeline, before: State, after: State) -> FolderDifference:
    """What the data folder holds in two states."""
    return _Comparison(timeline, before, after).result()


class _Comparison:
    """Two images, and where they may differ."""

    def __init__(self, timeline: Timeline, before: State, after: State) -> None:
        self._whole, self._crashed = StateImage(timeline, before), StateImage(timeline, after)
        self._before, self._after = files_of(self._whole), files_of(self._crashed)
        self._changes = timeline.changes(before, after)

    def result(self) -> FolderDifference:
        paths = sorted(self._before.keys() | self._after.keys(), key=lambda path: path.split(b"/"))
        compared = {path: self._compare(path) for path in paths if self._may_differ(path)}
        changed = [path for path, found in compared.items() if found.change]
        shown = set(changed[:_MOST_CHANGED])
        shown |= {folder for path in shown for folder in _folders(path)}
        same = [path for path in paths if path not in shown and path not in changed]
        shown |= set(same[:_MOST_SAME])
        files = [compared.get(path) or self._unchanged(path) for path in paths if path in shown]
        return FolderDifference(files, len(changed[_MOST_CHANGED:]), len(same[_MOST_SAME:]))

    def _may_differ(self, path: bytes) -> bool:
        old, new = self._before.get(path), self._after.get(path)
        return old is None or old != new or new in self._changes.blocks or new in self._changes.meta

    def _unchanged(self, path: bytes) -> FileDifference:
        return _file(path, "", _size(self._crashed, self._after[path]))

    def _compare(self, path: bytes) -> FileDifference:
        old, new = self._before.get(path), self._after.get(path)
        if old is None or new is None:
            change = "gone" if new is None else "only after the crash"
            return _file(path, change, _size(self._whole, old) if new is None else _size(self._crashed, new))
        sizes = _size(self._whole, old), _size(self._crashed, new)
        rows = list(self._rows(old, new))
        changed = bool(rows) or sizes[0] != sizes[1]
        change = "changed" if changed else "other mode or attributes" if self._other_facts(old, new) else ""
        lines = _lines(_content(self._whole, old), _content(self._crashed, new)) if changed else []
        size = sizes[1] if sizes[0] == sizes[1] else f"{sizes[1]}, was {sizes[0]}"
        return _file(path, change, size, lines, rows)

    def _other_facts(self, old: int, new: int) -> bool:
        facts = [(image.mode(obj), image.xattrs(obj)) for image, obj in ((self._whole, old), (self._crashed, new))]
        return facts[0] != facts[1]

    def _rows(self, old: int, new: int) -> Iterator[Row]:
        """Rows with a difference, at most one more than are shown."""
        count = 0
        for start, one, other in self._pieces(old, new):
            for row in differing_rows(one, other, start):
                yield row
                count += 1
                if count > _MOST_ROWS:
                    return

    def _pieces(self, old: int, new: int) -> Iterator[Piece]:
        """What may differ: the blocks that do, or as much of two files as is compared."""
        kinds = {self._whole.kind(old), self._crashed.kind(new)}
        blocks = self._changes.blocks.get(new) if old == new else None
        if kinds != {ObjectKind.FILE} or blocks is None:
            yield 0, _content(self._whole, old), _content(self._crashed, new)
            return
        for block in sorted(blocks):
            at = block * BLOCK
            yield at, self._whole.read(old, at, BLOCK), self._crashed.read(new, at, BLOCK)


def _folders(path: bytes) -> Iterator[bytes]:
    """The folders that a path is in."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _file(
    path: bytes, change: str, size: str, lines: list[Line] | None = None, rows: list[Row] | None = None
) -> FileDifference:
    name, rows = path.rpartition(b"/")[2].decode("utf-8", "replace"), rows or []
    return FileDifference(name, path.count(b"/"), change, size, lines or [], rows[:_MOST_ROWS], len(rows) > _MOST_ROWS)


def _content(image: StateImage, obj: int) -> bytes:
    if image.kind(obj) is ObjectKind.FOLDER:
        return b""
    return image.read(obj, 0, _COMPARED) if image.kind(obj) is ObjectKind.FILE else image.target(obj)


def _size(image: StateImage, obj: int | None) -> str:
    if obj is None or image.kind(obj) is ObjectKind.FOLDER:
        return "folder"
    return f"{image.size(obj):,} bytes" if image.kind(obj) is ObjectKind.FILE else "link"


def _lines(one: bytes, other: bytes) -> list[Line]:
    """A difference of lines, where both sides are text and whole."""
    if max(len(one), len(other)) >= _COMPARED or b"\0" in one or b"\0" in other:
        return []
    try:
        before, after = one.decode().splitlines(), other.decode().splitlines()
    except UnicodeDecodeError:
        return []
    if max(len(before), len(after)) > _MOST_COMPARED:
        return []
    found = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]  # without the names of both sides
    kinds = {"-": "gone", "+": "new", "@": "place"}
    cut = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]}… ({len(line) - 1:,} characters)" for line in found]
    return [(kinds.get(line[:1], "same"), line) for line in cut[:_MOST_LINES]]


def differing_rows(one: bytes, other: bytes, start: int = 0) -> Iterator[Row]:
    """The rows of two contents that are not the same; both begin at an offset."""
    for at in range(0, max(len(one), len(other)), _ROW):
        left, right = one[at : at + _ROW], other[at : at + _ROW]
        if left != right:
            yield Row(start + at, _cells(left, right), _cells(right, left))


def _cells(mine: bytes, theirs: bytes) -> list[Cell]:
    return [
        (f"{byte:02x}", chr(byte) if byte in _PRINTABLE else "·", theirs[i : i + 1] != mine[i : i + 1])
        for i, byte in enumerate(mine)
    ]

"""The crashed folder against the folder at the moment of the crash: a tree, and the bytes that differ.

Before: two images. After: every path of either, with what became of it; of a file that differs, its lines (where both
sides are text) and its rows of bytes, only those with a difference and the first of many.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from powercut.image.image import ObjectKind
from powercut.image.view import StateImage
from powercut.report.difference import files_of

_MOST_FILES = 200
_COMPARED = 1 << 20  # bytes of a file
_ROW = 16
_MOST_ROWS, _MOST_LINES = 32, 60
_MOST_COMPARED = 2000  # lines; difflib is slow on more
_PRINTABLE = range(0x20, 0x7F)
Cell = tuple[str, str, bool]  # a byte in hexadecimal, as a character, and whether it differs
Line = tuple[str, str]  # what a line of a difference is: gone, new, same or a place; and its text


@dataclass(frozen=True, slots=True)
class Row:
    """16 bytes of both sides from one offset on."""

    offset: int
    before: list[Cell]
    after: list[Cell]


@dataclass(frozen=True, slots=True)
class FileDifference:
    """One path: `change` is same, changed, gone or only after the crash."""

    path: str
    depth: int
    change: str
    size: str
    lines: list[Line]
    rows: list[Row]
    more: bool  # there are more rows than are shown


def differences(whole: StateImage, crashed: StateImage) -> list[FileDifference]:
    """All paths of two images, in order."""
    before, after = files_of(whole), files_of(crashed)
    paths = sorted(before.keys() | after.keys(), key=lambda path: path.split(b"/"))[:_MOST_FILES]
    return [_difference(path, whole, before.get(path), crashed, after.get(path)) for path in paths]


def _difference(
    path: bytes, whole: StateImage, old: int | None, crashed: StateImage, new: int | None
) -> FileDifference:
    one, other = _content(whole, old), _content(crashed, new)
    change = "gone" if new is None else "only after the crash" if old is None else "same" if one == other else "changed"
    size = _size(crashed, new) if new is not None else _size(whole, old)
    changed = change == "changed"
    rows = _rows(one, other) if changed else []
    return FileDifference(
        path.rpartition(b"/")[2].decode("utf-8", "replace"),
        path.count(b"/"),
        change,
        size,
        _lines(one, other) if changed else [],
        rows[:_MOST_ROWS],
        len(rows) > _MOST_ROWS,
    )


def _content(image: StateImage, obj: int | None) -> bytes:
    if obj is None or image.kind(obj) is ObjectKind.FOLDER:
        return b""
    return image.read(obj, 0, _COMPARED) if image.kind(obj) is ObjectKind.FILE else image.target(obj)


def _size(image: StateImage, obj: int | None) -> str:
    if obj is None or image.kind(obj) is ObjectKind.FOLDER:
        return "folder"
    return f"{image.size(obj)} bytes" if image.kind(obj) is ObjectKind.FILE else "link"


def _lines(one: bytes, other: bytes) -> list[Line]:
    """A difference of lines, where both sides are text."""
    try:
        before, after = one.decode().splitlines(), other.decode().splitlines()
    except UnicodeDecodeError:
        return []
    if b"\0" in one + other or max(len(before), len(after)) > _MOST_COMPARED:
        return []
    found = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]  # without the names of both sides
    kinds = {"-": "gone", "+": "new", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in found[:_MOST_LINES]]


def _rows(one: bytes, other: bytes) -> list[Row]:
    """Rows with a difference, at most one more than are shown."""
    rows = []
    for offset in range(0, max(len(one), len(other)), _ROW):
        left, right = one[offset : offset + _ROW], other[offset : offset + _ROW]
        if left != right:
            rows.append(Row(offset, _cells(left, right), _cells(right, left)))
        if len(rows) > _MOST_ROWS:
            break
    return rows


def _cells(mine: bytes, theirs: bytes) -> list[Cell]:
    return [
        (f"{byte:02x}", chr(byte) if byte in _PRINTABLE else "·", theirs[i : i + 1] != mine[i : i + 1])
        for i, byte in enumerate(mine)
    ]

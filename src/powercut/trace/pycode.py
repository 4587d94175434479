"""Decodes what the tracer keeps of CPython code objects.

The tracer copies a code object's line table as it stands and stores the byte offset of the current instruction.
Turning both into a line number costs time that a stopped program should not pay, so it happens here, later.
The table's layout has been the same since CPython 3.11 (``Objects/locations.md`` in its sources).
"""

from __future__ import annotations

import struct

from powercut.quick_dataclass import dataclass

_HEAD = struct.Struct("<6I")

_CODE_UNIT = 2
"""Bytes of one instruction unit; the table counts in units."""

_ONE_LINE = range(10, 13)
_NO_COLUMNS = 13
_LONG = 14
_NONE = 15


@dataclass(frozen=True, slots=True)
class PyCode:
    """One ``struct pc_pycode`` with its three byte strings."""

    version: int
    first_line: int
    filename: str
    qualname: str
    linetable: bytes

    def line_of(self, byte_offset: int) -> int | None:
        return line_of(self.first_line, self.linetable, byte_offset)

    def position_of(self, byte_offset: int) -> tuple[int | None, int | None]:
        return position_of(self.first_line, self.linetable, byte_offset)


def parse_pycode(data: bytes) -> PyCode | None:
    """Reads a PC_TABLE_PYCODE entry; None if it is not whole."""
    if len(data) < _HEAD.size:
        return None
    version, first_line, filename_length, qualname_length, linetable_length, _ = _HEAD.unpack_from(data)
    if len(data) < _HEAD.size + filename_length + qualname_length + linetable_length:
        return None
    at = _HEAD.size
    filename = data[at : at + filename_length].decode("utf-8", "surrogateescape")
    at += filename_length
    qualname = data[at : at + qualname_length].decode("utf-8", "surrogateescape")
    at += qualname_length
    return PyCode(version, first_line, filename, qualname, data[at : at + linetable_length])


class _Varints:
    """Reads the 6-bit groups of a line table; past the end it gives zeros, so a cut table ends the walk."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        value = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        return value

    def unsigned(self) -> int:
        byte = self.byte()
        value = byte & 63
        shift = 6
        while byte & 64:
            byte = self.byte()
            value |= (byte & 63) << shift
            shift += 6
        return value

    def signed(self) -> int:
        value = self.unsigned()
        return -(value >> 1) if value & 1 else value >> 1


def _move(code: int, reader: _Varints) -> tuple[int, int | None]:
    """Reads one entry behind its first byte: how far the line moves, and the column, counted from 1."""
    if code == _NONE:
        return 0, None
    if code == _NO_COLUMNS:
        return reader.signed(), None
    if code == _LONG:
        delta = reader.signed()
        _end_line, column, _end_column = (reader.unsigned() for _ in range(3))
        return delta, column or None  # it is written counted from 1
    if code in _ONE_LINE:
        column, _end_column = reader.byte(), reader.byte()
        return code - _ONE_LINE.start, column + 1
    return 0, code * 8 + (reader.byte() >> 4 & 7) + 1


def position_of(first_line: int, linetable: bytes, byte_offset: int) -> tuple[int | None, int | None]:
    """Line and column (in bytes, from 1) of the instruction at ``byte_offset``; None what the compiler did not give.

    Both are None where the table is cut.
    """
    if byte_offset < 0:
        return None, None
    line = first_line
    end = 0
    reader = _Varints(linetable)
    while reader.at < len(linetable):
        first = reader.byte()
        code = (first >> 3) & 15
        delta, column = _move(code, reader)
        line += delta
        end += ((first & 7) + 1) * _CODE_UNIT
        if byte_offset < end:
            return (None, None) if code == _NONE else (line, column)
    return None, None


def line_of(first_line: int, linetable: bytes, byte_offset: int) -> int | None:
    """The line of the instruction at ``byte_offset``; None where the compiler gave none or the table is cut."""
    return position_of(first_line, linetable, byte_offset)[0]

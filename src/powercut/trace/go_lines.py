"""Lines of Go programs, from the table that Go's own stack traces need.

Before: an open ELF file of Go 1.18 or newer; `-s -w` leaves its `.gopclntab` in. After: for each address of Go code the
functions there with file and line, the innermost inlined one first; nothing of C code that cgo put in, or where the
table is damaged or of another version. Debug information is no better where there is any: behind cgo's calls, the lines
of inlined calls are wrong in it (go1.19).

The layout is that of Go's runtime/symtab.go: a header, tables of names, of files and of what changes at which address,
and a row for each function. Which calls were inlined stands outside of the table; moduledata says where.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Sequence

from powercut.quick_dataclass import dataclass
from powercut.trace.elf import Elf, ElfError, string
from powercut.trace.lines import Line

_HEAD = struct.Struct("<IxxBB8Q")
_GO_1_18, _GO_1_20 = 0xFFFFFFF0, 0xFFFFFFF1
_ROW = struct.Struct("<IiiIIIIIIiBxxB")  # of a function; Go 1.18 has no line of its start in it
_ROW_1_18 = struct.Struct("<IiiIIIIIIBxxB")
_WIDE = 8
_INLINED_AT, _INLINED = 2, 3  # numbers of the table of addresses and of the data of inlined calls
_GO_FUNC = {_GO_1_18: 38, _GO_1_20: 40}  # words into moduledata
_CALL = {_GO_1_18: struct.Struct("<hBxiiii"), _GO_1_20: struct.Struct("<Bxxxiii")}
_DEEPEST = 64  # inlined calls in one another
_NOWHERE = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Function:
    entry: int
    name: int
    files: int
    lines: int
    unit: int
    inlined_at: int
    inlined: int


class GoLines:
    """The table of one program."""

    def __init__(self, elf: Elf) -> None:
        section = next((section for section in elf.sections if section.name == ".gopclntab"), None)
        if section is None:
            raise ElfError("this is no Go program")
        self._data = elf.data(section)
        self._version, self._quantum, wide, count, _, start, *tables = self._unpack(_HEAD, 0)
        if self._version not in _GO_FUNC or wide != _WIDE or elf.order != "<":
            raise ElfError("its table of lines is of another version of Go")
        self._names, self._units, self._files, self._changes, self._rows = tables
        self._start = start or next((other.address for other in elf.sections if other.name == ".text"), 0)
        self._entries = [row[0] for row in self._table(self._rows, count)]
        self._offsets = [row[1] for row in self._table(self._rows, count)]
        (self._end,) = self._unpack(struct.Struct("<I"), self._rows + 8 * len(self._entries))
        self._calls = self._inlined_calls(elf, section.address)

    def lines(self, addresses: Sequence[int]) -> dict[int, list[Line]]:
        """What the table says of addresses; those that it says nothing of are left out."""
        found = {}
        for address in addresses:
            try:
                found[address] = self._at(address - self._start)
            except (struct.error, IndexError, ElfError):
                continue
        return {address: lines for address, lines in found.items() if lines}

    def _at(self, place: int) -> list[Line]:
        number = bisect.bisect_right(self._entries, place) - 1
        if number < 0 or place >= self._end:
            return []
        function = self._function(self._offsets[number])
        lines: list[Line] = []
        while len(lines) < _DEEPEST:
            call = self._value(function.inlined_at, function.entry, place) if function.inlined_at else -1
            inlined = self._inlined(function, call)
            lines.append(self._line(function, inlined[0] if inlined else function.name, place))
            if inlined is None:
                break
            place = function.entry + inlined[1]
        return lines

    def _line(self, function: _Function, name: int, place: int) -> Line:
        file = self._value(function.files, function.entry, place)
        line = self._value(function.lines, function.entry, place)
        (at,) = struct.unpack_from("<I", self._data, self._units + 4 * (function.unit + file)) if file >= 0 else (0,)
        path = string(self._data, self._files + at) if file >= 0 and at != _NOWHERE else ""
        return Line(string(self._data, self._names + name), path or None, line if path and line > 0 else None, None)

    def _function(self, offset: int) -> _Function:
        record = _ROW if self._version == _GO_1_20 else _ROW_1_18
        at = self._rows + offset
        entry, name, _, _, _, files, lines, tables, unit, *_, count = self._unpack(record, at)
        more = at + record.size
        words = struct.unpack_from(f"<{tables + count}I", self._data, more)
        inlined_at = words[_INLINED_AT] if tables > _INLINED_AT else 0
        inlined = words[tables + _INLINED] if count > _INLINED else _NOWHERE
        return _Function(entry, name, files, lines, unit, inlined_at, inlined)

    def _value(self, offset: int, place: int, wanted: int) -> int:
        """What a table of changes says of a place: it begins with -1 at the function's entry."""
        value, at, first = -1, self._changes + offset, True
        while True:
            change, at = self._varint(at)
            if not change and not first:
                return -1
            value, first = value + (change >> 1 ^ -(change & 1)), False
            step, at = self._varint(at)
            place += step * self._quantum
            if wanted < place:
                return value

    def _varint(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    def _inlined(self, function: _Function, call: int) -> tuple[int, int] | None:
        """The name of an inlined function, and where in the outer one its call is."""
        if call < 0 or function.inlined == _NOWHERE or not self._calls:
            return None
        record = _CALL[self._version]
        values = record.unpack_from(self._calls, function.inlined + call * record.size)
        return (values[4], values[5]) if self._version == _GO_1_18 else (values[1], values[2])

    def _inlined_calls(self, elf: Elf, table: int) -> bytes:
        """What stands from `go:func.*` on; nothing without moduledata, which begins with the table's address."""
        for section in elf.sections:
            if section.name not in (".noptrdata", ".data", ".data.rel.ro", ".go.module"):
                continue
            data = elf.data(section)
            at = data.find(struct.pack("<Q", table))
            while at >= 0 and at % 8:
                at = data.find(struct.pack("<Q", table), at + 1)
            word = at + 8 * _GO_FUNC[self._version]
            if at >= 0 and word + 8 <= len(data):
                return elf.memory(struct.unpack_from("<Q", data, word)[0])
        return b""

    def _table(self, at: int, count: int) -> list[tuple[int, int]]:
        count = max(0, min(count, (len(self._data) - at) // 8))
        return list(struct.iter_unpack("<II", self._data[at : at + 8 * count]))

    def _unpack(self, record: struct.Struct, at: int) -> tuple[int, ...]:
        try:
            return record.unpack_from(self._data, at)
        except struct.error as error:
            raise ElfError("its table of lines is damaged") from error

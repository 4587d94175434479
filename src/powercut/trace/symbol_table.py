"""The functions of an ELF file by their addresses, for code that has no line information.

Before: an open file, which may be damaged. After: the file can be closed. The records are looked at when a name is
first asked for: where there is line information, most often none is.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter

from powercut.trace.elf import SYMBOL_TABLES, Elf, ElfError, Section, string

_SIZELESS_REACH = 4096
"""Assembler symbols have no size; one is believed to cover at most this much."""

_FUNCTION_TYPES = frozenset((0, 2, 10))  # STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC
_UNDEFINED = 0  # SHN_UNDEF: of another file


class SymbolTable:
    """What the symbol tables of one file say.

    A symbol counts only if it covers the address: in a stripped library the nearest exported name is most often that
    of another function, and a wrong name is worse than none.
    """

    def __init__(self, elf: Elf) -> None:
        wide = elf.is_wide
        self._record = struct.Struct(elf.order + ("IBBHQQ" if wide else "IIIBBH"))
        self._fields = itemgetter(*((0, 1, 3, 4, 5) if wide else (0, 3, 5, 1, 2)))  # name, type, section, address, size
        tables = [section for section in elf.sections if section.type in SYMBOL_TABLES]
        self._tables = [(elf.data(table), elf.data(_names(elf, table))) for table in tables]

    @cached_property
    def _found(self) -> dict[int, tuple[int, str]]:
        """Size and name of the function at each address; of several the largest."""
        found: dict[int, tuple[int, str]] = {}
        for value, size, name in self._functions():
            known = found.get(value)
            if known is None or size > known[0]:
                found[value] = (size, name)
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(self._found)

    def name(self, address: int) -> str | None:
        """The function at an address."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        start = self._starts[at]
        size, name = self._found[start]
        return name if address - start < (size or _SIZELESS_REACH) else None

    def _functions(self) -> Iterator[tuple[int, int, str]]:
        """Address, size and name of each function that has a name and stands in this file."""
        for table, names in self._tables:
            for record in self._record.iter_unpack(table[: len(table) - len(table) % self._record.size]):
                name, info, home, value, size = self._fields(record)
                if info & 0xF in _FUNCTION_TYPES and home != _UNDEFINED and names[name : name + 1] not in (b"", b"\0"):
                    yield value, size, string(names, name)


def _names(elf: Elf, table: Section) -> Section:
    if table.link >= len(elf.sections):
        raise ElfError("the names of its symbols are missing")
    return elf.sections[table.link]

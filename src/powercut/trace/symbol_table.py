"""The functions of an ELF file by their addresses, for code that has no line information.

Before: an open file, which may be damaged. After: the file can be closed. Records are unpacked here and not by
pyelftools, which takes a fifth of a second for the C library alone: most runs need these names for a few addresses.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_SIZELESS_REACH = 4096
"""Assembler symbols have no size; one is believed to cover at most this much."""

_FUNCTION_TYPES = frozenset((0, 2, 10))  # STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC
_UNDEFINED = 0  # SHN_UNDEF: of another file


class SymbolTable:
    """What the symbol tables of one file say.

    A symbol counts only if it covers the address: in a stripped library the nearest exported name is most often that
    of another function, and a wrong name is worse than none.
    """

    def __init__(self, elf: ELFFile) -> None:
        found: dict[int, tuple[int, str]] = {}
        for section in elf.iter_sections():
            if isinstance(section, SymbolTableSection):
                for value, size, name in _functions(elf, section):
                    known = found.get(value)
                    if known is None or size > known[0]:
                        found[value] = (size, name)
        self._starts = sorted(found)
        self._found = found

    def name(self, address: int) -> str | None:
        """The function at an address."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        start = self._starts[at]
        size, name = self._found[start]
        return name if address - start < (size or _SIZELESS_REACH) else None


def _functions(elf: ELFFile, section: SymbolTableSection) -> Iterator[tuple[int, int, str]]:
    """Address, size and name of each function of a table that has a name and stands in this file."""
    names = elf.get_section(section["sh_link"]).data()
    order = "<" if elf.little_endian else ">"
    record = struct.Struct(order + ("IBBHQQ" if elf.elfclass == 64 else "IIIBBH"))
    table = section.data()
    for fields in record.iter_unpack(table[: len(table) - len(table) % record.size]):
        if elf.elfclass == 64:
            name, info, _, home, value, size = fields
        else:
            name, value, size, info, _, home = fields
        if info & 0xF in _FUNCTION_TYPES and home != _UNDEFINED and names[name : name + 1] not in (b"", b"\0"):
            end = names.find(b"\0", name)
            yield value, size, names[name : end if end >= 0 else None].decode("utf-8", "replace")

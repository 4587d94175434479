"""The sections of an ELF file, as far as naming addresses needs them.

Before: an open file, which may be damaged. After: its sections, or an `ElfError`. pyelftools would do the same; but to
load it and to go through the sections of a program and its C library takes a tenth of a second, in every run.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from powercut.quick_dataclass import dataclass

_MAGIC = b"\x7fELF"
_WIDE, _LITTLE = 2, 1  # ELFCLASS64, ELFDATA2LSB
_NOTE, _NO_BITS = 7, 8  # of a section's type
SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_COMPRESSED = 1 << 11  # of a section's flags
_MANY = 0xFFFF  # SHN_XINDEX: what does not fit into the header stands in the first section
_GNU_BUILD_ID = 3  # NT_GNU_BUILD_ID
_WIDE_HEAD, _NARROW_HEAD = "40xQ10xHHH", "32xI10xHHH"  # where the sections start, the size of one, how many, names
_WIDE_SECTION, _NARROW_SECTION = "IIQQQQII16x", "IIIIIIII8x"


class ElfError(ValueError):
    """This is no ELF file, or a damaged one."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section: `link` is the number of another one, for a table of symbols that of their names.

    Attributes:
        address: where it stands in memory, 0 if nowhere.
    """

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    address: int = 0


class Elf:
    """An open ELF file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._size = stream.seek(0, 2)
        head = self._bytes(0, min(self._size, 64))
        if head[:4] != _MAGIC or len(head) < struct.calcsize(_WIDE_HEAD):
            raise ElfError("this is not an ELF file")
        self.is_wide = head[4] == _WIDE
        self.order = "<" if head[5] == _LITTLE else ">"
        self.sections = self._sections(head)

    def _sections(self, head: bytes) -> list[Section]:
        start, size, count, named_by = struct.unpack_from(
            self.order + (_WIDE_HEAD if self.is_wide else _NARROW_HEAD), head
        )
        record = struct.Struct(self.order + (_WIDE_SECTION if self.is_wide else _NARROW_SECTION))
        if not start:
            return []
        if size < record.size:
            raise ElfError("its sections have the wrong size")
        first = record.unpack(self._bytes(start, record.size))
        table = self._bytes(start, size * (count or first[5]))
        found = [record.unpack_from(table, at) for at in range(0, len(table), size)]
        named_by = first[6] if named_by == _MANY else named_by
        names = self._bytes(*found[named_by][4:6]) if 0 < named_by < len(found) else b""
        return [
            Section(string(names, name), kind, flags, offset, length, link, address)
            for name, kind, flags, address, offset, length, link, _ in found
        ]

    def data(self, section: Section) -> bytes:
        """What a section holds; nothing of one that is compressed, which no section that we read ever is."""
        if section.type == _NO_BITS or section.flags & _COMPRESSED:
            return b""
        return self._bytes(section.offset, section.size)

    def memory(self, address: int) -> bytes:
        """What stands in memory from an address to the end of its section."""
        for section in self.sections:
            if section.address and section.address <= address < section.address + section.size:
                return self.data(section)[address - section.address :]
        return b""

    def has(self, *names: str) -> bool:
        """Whether there is a section of one of these names."""
        return any(section.name in names for section in self.sections)

    def build_id(self) -> str:
        """What the linker has written to tell this build from others; empty without."""
        for section in self.sections:
            notes, at = self.data(section) if section.type == _NOTE else b"", 0
            while at + 12 <= len(notes):
                name_size, size, kind = struct.unpack_from(f"{self.order}3I", notes, at)
                name, at = notes[at + 12 : at + 12 + name_size], at + 12 + _padded(name_size)
                if name == b"GNU\0" and kind == _GNU_BUILD_ID:
                    return notes[at : at + size].hex()
                at += _padded(size)
        return ""

    def _bytes(self, offset: int, size: int) -> bytes:
        if offset + size > self._size:
            raise ElfError("it is truncated")
        self._stream.seek(offset)
        return self._stream.read(size)


def string(names: bytes, offset: int) -> str:
    """One of the strings of a section that ends each with a zero."""
    end = names.find(b"\0", offset)
    return names[offset : end if end >= 0 else None].decode("utf-8", "replace")


def _padded(size: int) -> int:
    return (size + 3) & ~3

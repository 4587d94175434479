"""Which function of a library a call of the program enters, by the call's own instruction.

A function that ends in a jump leaves no frame: `pmemobj_persist` of PMDK 1.12 jumps into the function that its pool
names, and a program's own `persist` jumps into `pmemobj_persist`. The stack then begins with a function without a name,
or with another one. But the program says in its call, or in the jumps of the function it calls, which import it means.

Before: a file of the program and the address of a call in it. After: the names of the imports that it can have entered;
none if the call is indirect, or the file cannot be read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from powercut.quick_dataclass import dataclass

_CALL, _JUMP, _SHORT_JUMP = 0xE8, 0xE9, 0xEB
_IF, _SHORT_IF, _OF_IF = 0x0F, range(0x70, 0x80), range(0x80, 0x90)  # jumps on a condition
_SHORT = 2  # bytes
_CALL_THROUGH, _JUMP_THROUGH = b"\xff\x15", b"\xff\x25"  # an entry of the table of addresses
_BEFORE_JUMP = (b"\xf3\x0f\x1e\xfa", b"\xf2", b"\xf3")  # endbr64, bnd, rep
_GLOB_DAT, _JUMP_SLOT = 6, 7  # R_X86_64_...
_EXECUTABLE = 4  # SHF_EXECINSTR
_DEEPEST = 4  # functions that jump into each other


@dataclass(frozen=True, slots=True)
class _Code:
    address: int
    data: bytes

    def at(self, address: int, size: int) -> bytes:
        """The bytes there, as many as there are."""
        start = address - self.address
        return self.data[max(start, 0) : max(start + size, 0)] if start < len(self.data) else b""


class CallSites:
    """Reads each file once, when it is first asked for."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def entered(self, path: str, address: int) -> frozenset[str]:
        """The imports that the call whose last byte is at this address can have entered."""
        if path not in self._files:
            self._files[path] = _File(path)
        return frozenset(self._files[path].entered(address + 1))


class _File:
    def __init__(self, path: str) -> None:
        self._code: list[_Code] = []
        self._imports: dict[int, str] = {}  # by the place of their address
        self._functions: dict[int, int] = {}  # the size of those that begin somewhere
        self._read(Path(path))

    def entered(self, behind: int) -> Iterator[str]:
        """By the call that returns to `behind`."""
        through, direct = self._bytes(behind - 6, 6), self._bytes(behind - 5, 5)
        if through[:2] == _CALL_THROUGH and (name := self._imports.get(behind + _offset(through, 2))):
            yield name
        elif direct[:1] == bytes([_CALL]):
            yield from self._by_jumps(behind + _offset(direct, 1), _DEEPEST)

    def _by_jumps(self, target: int, deepest: int) -> Iterator[str]:
        """What is entered by going on at an address: an import's stub, or a function that ends in jumps."""
        if name := self._stub(target):
            yield name
            return
        code = self._bytes(target, self._functions.get(target, 0))
        for at in range(len(code)) if deepest else ():
            if code[at : at + 2] == _JUMP_THROUGH and at + 6 <= len(code):
                name = self._imports.get(target + at + 6 + _offset(code, at + 2))
                yield from [name] if name else []
            elif (size := _jump_size(code, at)) and at + size <= len(code):
                offset = _short_offset(code, at + 1) if size == _SHORT else _offset(code, at + size - 4)
                there = target + at + size + offset
                if there != target and (there in self._functions or self._stub(there)):
                    yield from self._by_jumps(there, deepest - 1)

    def _stub(self, address: int) -> str | None:
        """The import whose stub begins there."""
        code, at = self._bytes(address, 16), 0
        for before in _BEFORE_JUMP:
            at += len(before) * code.startswith(before, at)
        if code[at : at + 2] != _JUMP_THROUGH or at + 6 > len(code):
            return None
        return self._imports.get(address + at + 6 + _offset(code, at + 2))

    def _bytes(self, address: int, size: int) -> bytes:
        return next((found for code in self._code if (found := code.at(address, size))), b"")

    def _read(self, path: Path) -> None:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        try:
            with path.open("rb") as stream:
                self._take(ELFFile(stream))
        except (OSError, ELFError, ValueError):
            self._code.clear()

    def _take(self, elf: Any) -> None:
        if elf.get_machine_arch() != "x64":
            return
        for section in elf.iter_sections():
            if section["sh_flags"] & _EXECUTABLE:
                self._code.append(_Code(section["sh_addr"], section.data()))
            elif section["sh_type"] == "SHT_RELA":
                names = elf.get_section(section["sh_link"])
                for entry in section.iter_relocations():
                    if entry["r_info_type"] in (_GLOB_DAT, _JUMP_SLOT) and names is not None:
                        self._imports[entry["r_offset"]] = names.get_symbol(entry["r_info_sym"]).name
            elif section["sh_type"] == "SHT_SYMTAB":
                for symbol in section.iter_symbols():
                    if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                        self._functions[symbol["st_value"]] = symbol["st_size"]


def _jump_size(code: bytes, at: int) -> int:
    """How many bytes a jump takes that may begin there; 0 if none does."""
    if code[at] == _JUMP:
        return 5
    if code[at] == _SHORT_JUMP or code[at] in _SHORT_IF:
        return _SHORT
    return 6 if code[at] == _IF and at + 1 < len(code) and code[at + 1] in _OF_IF else 0


def _short_offset(code: bytes, at: int) -> int:
    return int(struct.unpack_from("<b", code, at)[0])


def _offset(code: bytes, at: int) -> int:
    return int(struct.unpack_from("<i", code, at)[0])

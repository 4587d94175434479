"""The memory operand of an x86-64 instruction: which register it is based on, and how far behind it points.

Only as much of the instruction set is known as it takes to find the operand: prefixes, the length of the opcode, and
how the operand is written. What does not fit is not guessed.
"""

from __future__ import annotations

from powercut.quick_dataclass import dataclass

_PREFIXES = {0x66, 0xF0, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26}
_OTHER_ADDRESSES = {0x64, 0x65, 0x67}  # thread-local storage, 32-bit addresses
_STORES = {
    *(0x00, 0x01, 0x08, 0x09, 0x10, 0x11, 0x18, 0x19, 0x20, 0x21, 0x28, 0x29, 0x30, 0x31),  # add ... xor to memory
    *(0x80, 0x81, 0x83, 0x86, 0x87, 0x88, 0x89, 0xC0, 0xC1, 0xC6, 0xC7, 0xD0, 0xD1, 0xD2, 0xD3, 0xF6, 0xF7, 0xFE, 0xFF),
}
_LONG_STORES = {
    *(0x11, 0x13, 0x17, 0x29, 0x2B, 0x7E, 0x7F, 0xD6, 0xE7, 0xC3),  # movups ... movntdq, movnti
    *(0xB0, 0xB1, 0xC0, 0xC1, 0xC7, 0xAB, 0xB3, 0xBB, 0xBA),  # cmpxchg, xadd, cmpxchg8b, bit operations
    *range(0x90, 0xA0),  # setcc
}
_NO_BASE, _NO_INDEX, _SIB = 5, 4, 4


@dataclass(frozen=True, slots=True)
class Operand:
    """A register, by its number in instructions, and a distance."""

    base: int
    distance: int


def stored_to(code: bytes) -> Operand | None:
    """Where an instruction stores; None if it is none that stores to a register plus a constant, or not known."""
    at, rex = 0, 0
    while at < len(code) and code[at] in _PREFIXES:
        at += 1
    if at < len(code) and 0x40 <= code[at] <= 0x4F:
        rex = code[at]
        at += 1
    if at + 1 >= len(code) or code[at] in _OTHER_ADDRESSES:
        return None
    if code[at] == 0xC5:  # VEX, two bytes: no base beyond the first eight
        return _operand(code, at + 3, 0) if code[at + 2 : at + 3] and code[at + 2] in _LONG_STORES else None
    if code[at] == 0xC4:  # VEX, three bytes
        if len(code) < at + 4 or code[at + 1] & 0x1F != 1 or code[at + 3] not in _LONG_STORES:
            return None
        return _operand(code, at + 4, ~code[at + 1] >> 5 & 7)
    if code[at] == 0x0F:
        return _operand(code, at + 2, rex) if code[at + 1] in _LONG_STORES else None
    return _operand(code, at + 1, rex) if code[at] in _STORES else None


def _operand(code: bytes, at: int, rex: int) -> Operand | None:
    """The operand whose description begins at a byte; of `rex` the lowest bits extend base and index."""
    if at >= len(code):
        return None
    mode, register = code[at] >> 6, code[at] & 7
    at += 1
    if mode == 3 or (mode == 0 and register == _NO_BASE):  # a register; relative to the instruction
        return None
    if register == _SIB:
        if at >= len(code):
            return None
        index, register = (code[at] >> 3 & 7) | (rex & 2) << 2, code[at] & 7
        at += 1
        if index != _NO_INDEX or (mode == 0 and register == _NO_BASE):
            return None
    size = (0, 1, 4)[mode]
    if at + size > len(code):
        return None
    return Operand(register | (rex & 1) << 3, int.from_bytes(code[at : at + size], "little", signed=True))

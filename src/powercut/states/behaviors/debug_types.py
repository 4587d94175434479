"""Types from debug information: the variable that lives in the base register of a store says what is stored to.

Before: the places that stored, as addresses in modules. After: for those where it is sure, the type and the offset in
it. It is sure if the instruction stores to a register plus a constant, if the debug information says that at this
instruction the register holds a pointer to a structure (of one type, whatever variable), and if the constant lies
inside of it. Unoptimised code keeps variables in memory, so there it mostly is not; then addresses have to tell.

A module counts only if it is the build that was recorded. Large debug information is left alone: reading it takes
longer than testing more states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.locationlists import BaseAddressEntry, LocationEntry, LocationExpr, LocationParser
from elftools.dwarf.ranges import BaseAddressEntry as BaseRangeEntry
from elftools.elf.elffile import ELFFile

from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.operand import Operand, stored_to
from powercut.trace.elf import Elf

LARGEST = 32 << 20  # bytes of debug information
_LONGEST = 15  # bytes of an instruction
_POINTERS = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_ALIASES = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
_STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")
_VARIABLES = ("DW_TAG_variable", "DW_TAG_formal_parameter")
_DW_OP_REG0, _DW_OP_REGX = 0x50, 0x90
_MOST_NAMES = 32  # of one type; more is a circle
# Registers have other numbers in debug information than in instructions.
_IN_CODE = {0: 0, 1: 2, 2: 1, 3: 3, 4: 6, 5: 7, 6: 5, 7: 4, **{number: number for number in range(8, 16)}}


@dataclass(frozen=True, slots=True)
class Field:
    """A place in a structure."""

    type: str
    offset: int
    size: int  # of the structure


def fields_at(path: str, build_id: str, addresses: Iterable[int]) -> dict[int, Field]:
    """The fields that stores at some addresses of a module change, where that is sure."""
    try:
        with open(path, "rb") as stream:
            if build_id and Elf(stream).build_id() != build_id:
                return {}
            elf = ELFFile(stream)
            if not elf.has_dwarf_info():
                return {}
            operands = {address: stored_to(_code(elf, address)) for address in addresses}
            wanted = {address: operand for address, operand in operands.items() if operand is not None}
            return _Reader(elf).fields(wanted) if wanted and _is_small(elf) else {}
    except Exception:  # gone, or malformed: pyelftools then raises whatever it stumbles over
        return {}


def _is_small(elf: ELFFile) -> bool:
    section = elf.get_section_by_name(".debug_info")
    return section is not None and section.data_size <= LARGEST


def _code(elf: ELFFile, address: int) -> bytes:
    """The bytes of the program from an address on."""
    for segment in elf.iter_segments("PT_LOAD"):
        start, size = segment["p_vaddr"], segment["p_filesz"]
        if start <= address < start + size:
            elf.stream.seek(segment["p_offset"] + address - start)
            return bytes(elf.stream.read(min(_LONGEST, start + size - address)))
    return b""


class _Reader:
    """Reads the debug information of one module."""

    def __init__(self, elf: ELFFile) -> None:
        self._dwarf = elf.get_dwarf_info()
        self._lists = LocationParser(self._dwarf.location_lists())
        self._ranges = self._dwarf.range_lists()

    def fields(self, wanted: dict[int, Operand]) -> dict[int, Field]:
        """The fields of some stores: by address, where each one stores."""
        found: dict[int, set[Field]] = {address: set() for address in wanted}
        for unit in self._dwarf.iter_CUs():
            mine = {address: wanted[address] for address in self._inside(unit.get_top_DIE(), wanted)}
            for die in unit.iter_DIEs() if mine else ():
                if die.tag in _VARIABLES and "DW_AT_location" in die.attributes:
                    for low, high, register in self._lives(die):
                        for address, operand in mine.items():
                            if low <= address < high and operand.base == register:
                                found[address].update(self._field(die, operand.distance))
        return {address: fields.pop() for address, fields in found.items() if len(fields) == 1}

    def _inside(self, die: Any, addresses: Iterable[int]) -> list[int]:
        """Those of some addresses that lie in the code of a unit, function or block."""
        ranges = self._code_of(die)
        return [address for address in addresses if any(low <= address < high for low, high in ranges)]

    def _code_of(self, die: Any) -> list[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_ranges" in attributes and self._ranges is not None:
            base = _low(die.cu.get_top_DIE())
            found = []
            for entry in self._ranges.get_range_list_at_offset(attributes["DW_AT_ranges"].value, die.cu):
                if isinstance(entry, BaseRangeEntry):
                    base = entry.base_address
                else:
                    shift = 0 if entry.is_absolute else base
                    found.append((entry.begin_offset + shift, entry.end_offset + shift))
            return found
        if "DW_AT_low_pc" not in attributes or "DW_AT_high_pc" not in attributes:
            return []
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return [(low, high.value if describe_form_class(high.form) == "address" else low + high.value)]

    def _lives(self, die: Any) -> Iterator[tuple[int, int, int]]:
        """From where to where a variable lives in which register, as instructions number it."""
        where = self._lists.parse_from_attribute(die.attributes["DW_AT_location"], die.cu["version"], die)
        if isinstance(where, LocationExpr):
            scope = die.get_parent()
            for register in _register(where.loc_expr) if scope is not None else ():
                yield from ((low, high, register) for low, high in self._code_of(scope))
            return
        base = _low(die.cu.get_top_DIE())
        for entry in where:
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            elif isinstance(entry, LocationEntry):
                shift = 0 if entry.is_absolute else base
                for register in _register(entry.loc_expr):
                    yield entry.begin_offset + shift, entry.end_offset + shift, register

    def _field(self, die: Any, offset: int) -> Iterator[Field]:
        """The field at an offset of what a variable points to."""
        pointer = _type_of(die, _ALIASES)
        if pointer is None or pointer.tag not in _POINTERS:
            return
        structure = _type_of(pointer, _ALIASES)
        if structure is None or structure.tag not in _STRUCTURES:
            return
        size = structure.attributes.get("DW_AT_byte_size")
        if size is not None and 0 <= offset < size.value:
            name = structure.attributes.get("DW_AT_name")
            words = name.value.decode("utf-8", "replace") if name is not None else f"structure at {structure.offset}"
            yield Field(words, offset, size.value)


def _register(expression: Sequence[int]) -> Iterator[int]:
    """The register that an expression names, if it does nothing else; pyelftools takes long to say so."""
    number = -1
    if len(expression) == 1:
        number = expression[0] - _DW_OP_REG0
    elif len(expression) == 2 and expression[0] == _DW_OP_REGX:
        number = expression[1]
    if number in _IN_CODE:
        yield _IN_CODE[number]


def _low(die: Any) -> int:
    low = die.attributes.get("DW_AT_low_pc")
    return int(low.value) if low is not None else 0


def _type_of(die: Any, through: tuple[str, ...]) -> Any:
    """What the type of a variable or pointer is, seen through other names for it."""
    for _ in range(_MOST_NAMES):
        origin = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in die.attributes), None)
        if "DW_AT_type" in die.attributes:
            die = die.get_DIE_from_attribute("DW_AT_type")
            if die.tag not in through:
                return die
        elif origin is not None:
            die = die.get_DIE_from_attribute(origin)
        else:
            return None
    return None

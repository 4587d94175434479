"""What is known of the types that a program stores to, before addresses have to tell.

Before: operations of a timeline. After: for places in the program the number of a type and the offset of a field, as
`layouts.py` takes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from powercut.arrays import distinct
from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.layouts import Known
from powercut.states.behaviors.operations import Operations
from powercut.trace.elf import Elf, ElfError
from powercut.trace.layout import TableKind

if TYPE_CHECKING:
    from powercut.states.behaviors.debug_types import Field

_NATIVE = 1
_MODULES = 64  # whose answers are kept
_FIRST = 1  # number of a type; 0 are cache lines


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Types from debug information.

    Attributes:
        places: type, offset and size of the type, of the places where they are known.
        names: of the types, by number.
        asked: how many places stored.
    """

    places: Known = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    asked: int = 0


def known_types(operations: Operations) -> KnownTypes:
    """What debug information says of the places that stored."""
    trace, tree = operations.timeline.trace, operations.tree
    stacks = distinct(operations.stack[operations.stores])
    places = distinct(tree.place[stacks]).tolist()
    by_module: dict[int, dict[int, int]] = defaultdict(dict)
    for place in distinct(tree.place[stacks[tree.exact[stacks]]]).tolist():
        kind, module, address = tree.frames[place]
        if kind == _NATIVE and 0 < module <= len(trace.table(TableKind.MODULE)):
            by_module[module][address] = place
    numbers: dict[tuple[int, str, int], int] = {}
    found: dict[int, tuple[int, int, int]] = {}
    for module, addresses in by_module.items():
        path, _, build_id = trace.entry(TableKind.MODULE, module).partition(b"\0")
        known = _fields(
            path.decode("utf-8", "surrogateescape"), build_id.decode("ascii", "replace"), frozenset(addresses)
        )
        for address, where in known.items():
            number = numbers.setdefault((module, where.type, where.size), len(numbers) + _FIRST)
            found[addresses[address]] = (number, where.offset, where.size)
    return KnownTypes(found, {number: name for (_, name, _), number in numbers.items()}, len(places))


@lru_cache(maxsize=_MODULES)
def _fields(path: str, build_id: str, addresses: frozenset[int]) -> Mapping[int, Field]:
    """The fields that stores of a module change, the same under every model.

    pyelftools takes long to load and to read: it does so only where there is something to read.
    """
    try:
        with open(path, "rb") as stream:
            elf = Elf(stream)
            told = elf.has(".debug_info") and build_id in ("", elf.build_id())
    except (OSError, ElfError):
        return {}
    if not told:
        return {}
    from powercut.states.behaviors.debug_types import fields_at

    return fields_at(path, build_id, addresses)

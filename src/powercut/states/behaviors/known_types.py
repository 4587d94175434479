"""What is known of the types that a program stores to, before addresses have to tell.

Before: operations of a timeline. After: for places in the program the number of a type and the offset of a field, as
`layouts.py` takes them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from powercut.states.behaviors.debug_types import fields_at
from powercut.states.behaviors.layouts import Known
from powercut.states.behaviors.operations import Operations
from powercut.trace.layout import TableKind

_NATIVE = 1
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
    stacks = np.unique(operations.stack[operations.stores])
    places = np.unique(tree.place[stacks]).tolist()
    by_module: dict[int, dict[int, int]] = defaultdict(dict)
    for place in np.unique(tree.place[stacks[tree.exact[stacks]]]).tolist():
        kind, module, address = tree.frames[place]
        if kind == _NATIVE and 0 < module <= len(trace.table(TableKind.MODULE)):
            by_module[module][address] = place
    numbers: dict[tuple[int, str, int], int] = {}
    found: dict[int, tuple[int, int, int]] = {}
    for module, addresses in by_module.items():
        path, _, build_id = trace.entry(TableKind.MODULE, module).partition(b"\0")
        known = fields_at(path.decode("utf-8", "surrogateescape"), build_id.decode("ascii", "replace"), addresses)
        for address, where in known.items():
            number = numbers.setdefault((module, where.type, where.size), len(numbers) + _FIRST)
            found[addresses[address]] = (number, where.offset, where.size)
    return KnownTypes(found, {number: name for (_, name, _), number in numbers.items()}, len(places))

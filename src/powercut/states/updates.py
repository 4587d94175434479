"""Updates: the smallest changes that are atomic on their medium, kept as columns.

An update is a number; its properties are entries of columns, because a trace of a million events must not become a
million Python objects. Updates are numbered in the order in which the program issued them, and every update an update
depends on has a smaller number.
"""

from __future__ import annotations

from array import array
from enum import IntEnum

from powercut.states.state import NEVER


class UpdateKind(IntEnum):
    """What an update changes."""

    DATA = 1  # bytes of a file: start, length, data (offset of the blob in the trace)
    SIZE = 2  # the file grows to `start`
    CUT = 3  # truncate: the size becomes `start`, what lay `length` bytes behind it and further is gone
    ZERO = 4  # bytes `start` to `start + length` become zeros: blocks that a hole or a truncate frees
    ENTRY = 5  # names change: `start` is the first of `length` effects, which happen together
    MODE = 6  # permission bits become `start`
    XATTR = 7  # attribute `start` (a name number) becomes blob `data` of `length` bytes, or goes (data -1)
    FILL = 8  # bytes `start` to `start + length` of a block are written as zeros. If they are `fresh`, they lay behind
    #           the end of the file: where this is lost, garbage shows, if `data` (a truncate, or -1) survived


class Updates:
    """The columns of all updates of a timeline, growing at the end."""

    def __init__(self) -> None:
        self.kind = array("b")
        self.obj = array("i")
        self.event = array("i")
        self.start = array("q")
        self.length = array("q")
        self.data = array("q")
        self.fresh = array("b")
        self.guaranteed = array("q")
        self.first_need = array("q", [0])  # needs of update u: needs[first_need[u]:first_need[u + 1]]
        self.needs = array("i")
        self.effect_folder = array("i")
        self.effect_name = array("i")
        self.effect_value = array("i")  # object, or -1: the name is gone
        self.effect_update = array("i")
        self.names: list[bytes] = []
        self._name_number: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.kind)

    def add(
        self,
        kind: UpdateKind,
        obj: int,
        event: int,
        needs: list[int],
        *,
        start: int = 0,
        length: int = 0,
        data: int = 0,
        fresh: int = False,
    ) -> int:
        """Append an update; its number."""
        number = len(self.kind)
        self.kind.append(kind)
        self.obj.append(obj)
        self.event.append(event)
        self.start.append(start)
        self.length.append(length)
        self.data.append(data)
        self.fresh.append(fresh)
        self.guaranteed.append(NEVER)
        if needs:
            self.needs.extend(needs)
        self.first_need.append(len(self.needs))
        return number

    def extend_data(self, columns: tuple[bytes, ...]) -> range:
        """Append many updates of data at once: the columns of `_engine.Chains.run`; their numbers."""
        obj, event, start, length, data, guaranteed, need_ends, needs = columns
        first, count = len(self.kind), len(obj) // 4
        self.kind.frombytes(bytes([UpdateKind.DATA]) * count)
        self.obj.frombytes(obj)
        self.event.frombytes(event)
        self.start.frombytes(start)
        self.length.frombytes(length)
        self.data.frombytes(data)
        self.fresh.frombytes(bytes(count))
        self.guaranteed.frombytes(guaranteed)
        self.first_need.frombytes(need_ends)
        self.needs.frombytes(needs)
        return range(first, first + count)

    def add_effect(self, update: int, folder: int, name: bytes, value: int) -> None:
        """Add a name change to an ENTRY update that was just appended."""
        self.effect_folder.append(folder)
        self.effect_name.append(self.name_number(name))
        self.effect_value.append(value)
        self.effect_update.append(update)

    def name_number(self, name: bytes) -> int:
        """The number of a file or attribute name."""
        number = self._name_number.get(name)
        if number is None:
            number = self._name_number[name] = len(self.names)
            self.names.append(name)
        return number

    def needs_of(self, update: int) -> array[int]:
        """The updates that must have persisted for this one to persist."""
        return self.needs[self.first_need[update] : self.first_need[update + 1]]

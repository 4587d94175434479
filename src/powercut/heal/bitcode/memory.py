"""Which places of memory the instructions of a program may read and write.

Memory is told apart by fields of structures, variables, and what a value of these points to, whatever the order of
execution: an access to the same field of another object counts as one to this. A function without a body may read and
write all that its arguments point to, and PMDK's count as such: so the line that makes a field durable counts as one
that writes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from powercut.heal.bitcode.calls import Calls, Node, Value
from powercut.heal.bitcode.program import Instruction

PMDK = "@pmem"  # how its functions begin, those too that its headers define
_COPIES = re.compile("memcpy|memmove")  # its others make durable what is there, whatever that is
_DEEP = 3  # how often "what it points to" is followed
_POINTEE = "what is at"
_NONE = slice(0, 0)
_WRITTEN = {"store": slice(-1, None), "atomicrmw": slice(0, 1), "cmpxchg": slice(0, 1)}  # operands that are addresses
Place = tuple[object, ...]  # of memory


class Memory:
    """Reads and writes of a program."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._kept: dict[Value, list[Value]] = defaultdict(list)  # what is stored where
        self._inside: dict[Place, list[Place]] = {}  # places that are parts of others
        self._addresses: dict[Value, frozenset[Place]] = {}
        for (number, _), one in calls.nodes():
            if one.field is not None:
                self._inside["field", *one.field] = [("field", *inner) for inner in one.inside]
            if one.opcode == "store" and len(one.operands) > 1:
                self._kept[number, one.operands[-1]].append((number, one.operands[0]))

    def read(self, node: Node) -> Iterator[Place]:
        """What an instruction may read."""
        number, one = node[0], self._calls.instruction(node)
        if one.opcode in ("load", "atomicrmw", "cmpxchg") and one.operands:
            yield from self._points_to((number, one.operands[0]))
        elif one.callee is not None and (not one.callee.startswith(PMDK) or _COPIES.search(one.callee)):
            yield from self._given_away(number, one)

    @cached_property
    def writers(self) -> dict[Place, list[Node]]:
        """Who may write a place."""
        found: dict[Place, list[Node]] = defaultdict(list)
        for node, one in self._calls.nodes():
            written = set(self._given_away(node[0], one))
            for name in one.operands[_WRITTEN.get(one.opcode, _NONE)]:
                written |= self._points_to((node[0], name))
            for place in written:
                found[place].append(node)
        return found

    def _given_away(self, number: int, one: Instruction) -> Iterator[Place]:
        """What a function without a body gets the address of.

        PMDK's functions get the pool, too, and with that would all depend on each other: of theirs only places count
        that are named in the call.
        """
        if one.callee is not None and self._calls.leaves(number, one):
            of_pmdk = one.callee.startswith(PMDK)
            for place in (place for name in one.operands for place in self._points_to((number, name))):
                if not (of_pmdk and place[0] == _POINTEE):
                    yield from (place, *self._inside.get(place, ()))

    def _points_to(self, value: Value, depth: int = 0) -> frozenset[Place]:
        """The places that a value may be the address of."""
        if value in self._addresses:
            return self._addresses[value]
        found: set[Place] = set()
        waiting, seen = [value], set()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                places, others = self._step(one, depth)
                found |= places
                waiting += others
        if depth == 0:  # deeper ones may be cut short
            self._addresses[value] = frozenset(found)
        return frozenset(found)

    def _step(self, value: Value, depth: int) -> tuple[set[Place], list[Value]]:
        """Places that a value is the address of, and values that it may be the same as."""
        number, name = value
        if name[0] == "@":
            return {("variable", name)}, []
        maker = self._calls.maker(value)
        if maker is None:
            return set(), list(self._calls.arguments(value))
        one = self._calls.instruction(maker)
        if one.opcode == "alloca":
            return {("local", *value)}, []
        if one.field is not None:
            return {("field", *one.field)}, []
        if one.opcode == "load" and one.operands:
            return self._loaded((number, one.operands[0]), depth)
        if one.callee is not None:
            ends = self._calls.returns(number, one)
            return set(), [(end[0], name) for end in ends for name in self._calls.instruction(end).operands]
        operands = one.operands[:1] if one.opcode == "getelementptr" else one.operands
        return set(), [(number, operand) for operand in operands]

    def _loaded(self, address: Value, depth: int) -> tuple[set[Place], list[Value]]:
        """The same of what is loaded: from a local variable what is stored there, or what is at that place."""
        maker = self._calls.maker(address)
        if maker is not None and self._calls.instruction(maker).opcode == "alloca" and address in self._kept:
            return set(), self._kept[address]
        places = self._points_to(address, depth + 1) if depth < _DEEP else ()
        return {(_POINTEE, place) for place in places}, []

"""What an instruction of a program may depend on, as far as its code tells.

Before: the functions of all modules. After: for any instructions, all that they depend on, step by step:
- data: what computes their operands; what may have written the memory that they read; at a call what the called
  function returns, in a function what it was called with;
- control: the branches that decide whether they are executed, and the calls of their function.

What a function returns is followed into it, but not out again to its other callers, as their arguments are not those
of this call (Horwitz, Reps and Binkley). Memory is told apart by fields of structures, variables, and what a value of
these points to, whatever the order of execution: an access to the same field of another object counts as one to this.
A function without a body may read and write all that its arguments point to, and PMDK's count as such. So the result
is rather too large than too small, but it is no proof: it is used to choose what to try first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from powercut.heal.bitcode.program import Function, Instruction

PMDK = "@pmem"  # how its functions begin, those too that its headers define
_COPIES = re.compile("memcpy|memmove")  # its others make durable what is there, whatever that is
_DEEP = 3  # how often "what it points to" is followed
_POINTEE = "what is at"
_NONE = slice(0, 0)
_WRITTEN = {"store": slice(-1, None), "atomicrmw": slice(0, 1), "cmpxchg": slice(0, 1)}  # operands that are addresses
Value = tuple[int, str]  # the number of a function, and a name in it
Memory = tuple[object, ...]  # a place that can be read and written
Node = tuple[int, int]  # the number of a function, and of an instruction in it


class Dependences:
    """Direct dependences of a program's instructions."""

    def __init__(self, functions: Sequence[Function], referred: set[str]) -> None:
        """`referred`: functions that variables refer to, which may be called through these."""
        self.functions = functions
        self._by_name = {f.name: number for number, f in enumerate(functions) if not f.internal}
        self._in_module = {(f.module, f.name): number for number, f in enumerate(functions)}
        self._referred = set(referred)
        self._made: dict[Value, Node] = {}
        self._kept: dict[Value, list[Value]] = defaultdict(list)  # what is stored in a local variable
        self._callers: dict[int, list[tuple[Node, Sequence[str | None]]]] = defaultdict(list)
        self._pointed: dict[Value, frozenset[Memory]] = {}
        self._inside: dict[Memory, list[Memory]] = {}  # places that are parts of others
        self._control: dict[int, list[list[Node]]] = {}
        for node, one in self.nodes():
            if one.result is not None:
                self._made[node[0], one.result] = node
            if one.field is not None:
                self._inside["field", *one.field] = [("field", *inner) for inner in one.inside]
            if one.opcode == "store" and len(one.operands) > 1:
                self._kept[node[0], one.operands[-1]].append((node[0], one.operands[0]))
            self._referred |= {name for name in one.operands if name[0] == "@"}
        for node, one in self.nodes():
            for number, arguments in self._called(node[0], one):
                self._callers[number].append((node, arguments))

    def nodes(self) -> Iterator[tuple[Node, Instruction]]:
        """All instructions."""
        for number, function in enumerate(self.functions):
            for at, one in enumerate(function.instructions):
                yield (number, at), one

    def slice_of(self, seeds: Iterable[Node]) -> set[Node]:
        """All that some instructions depend on, and these."""
        free = set(seeds)  # reached in a way that leads on to the callers of their functions
        bound: set[Node] = set()  # reached by what their functions return
        read: set[Memory] = set()
        waiting = [(node, True) for node in free]
        while waiting:
            node, is_free = waiting.pop()
            new = set(self._read(node)) - read
            read |= new
            writers = ((writer, True) for memory in new for writer in self._writers.get(memory, ()))
            for other, other_free in (*self._of(node, is_free), *writers):
                if other not in free and (other_free or other not in bound):
                    (free if other_free else bound).add(other)
                    waiting.append((other, other_free))
        return free | bound

    def _of(self, node: Node, is_free: bool) -> Iterator[tuple[Node, bool]]:
        """What an instruction depends on without memory, and whether that leads on to callers."""
        number, at = node
        one = self.functions[number].instructions[at]
        sources = (self._made[value] for name in one.operands if (value := (number, name)) in self._made)
        yield from ((source, is_free) for source in (*sources, *self._deciding(number, one.block)))
        for called, _ in self._called(number, one):
            code = self.functions[called].instructions
            yield from (((called, end), False) for end, last in enumerate(code) if last.opcode == "ret")
        if is_free:
            yield from ((caller, True) for caller, _ in self._callers[number])

    def _arguments(self, value: Value) -> Iterator[Value]:
        """What a parameter may be; of anything else, nothing."""
        number, name = value
        parameters = self.functions[number].parameters
        if name in parameters:
            at = parameters.index(name)
            for (caller, _), arguments in self._callers[number]:
                if at < len(arguments) and (given := arguments[at]) is not None:
                    yield caller, given

    def _called(self, number: int, one: Instruction) -> Iterator[tuple[int, Sequence[str | None]]]:
        """Functions that an instruction may call, and with what."""
        if one.callee is None:
            return
        direct = self._function(number, one.callee)
        if direct is not None:
            yield direct, one.arguments
        elif one.callee[0] == "%":
            for other, function in enumerate(self.functions):
                if function.name in self._referred and len(function.parameters) == len(one.arguments):
                    yield other, one.arguments
        else:  # a library, which may call what it is given: with one of the other arguments
            for called in (self._function(number, name) for name in one.operands):
                if called is not None:
                    yield from ((called, [name]) for name in one.operands)

    def _function(self, caller: int, name: str) -> int | None:
        return self._in_module.get((self.functions[caller].module, name), self._by_name.get(name))

    def _read(self, node: Node) -> Iterator[Memory]:
        number, at = node
        one = self.functions[number].instructions[at]
        if one.opcode in ("load", "atomicrmw", "cmpxchg") and one.operands:
            yield from self._points_to((number, one.operands[0]))
        elif one.callee is not None and (not one.callee.startswith(PMDK) or _COPIES.search(one.callee)):
            yield from self._given_away(number, one)

    def _given_away(self, number: int, one: Instruction) -> Iterator[Memory]:
        """What a function without a body gets the address of, and may read and write.

        PMDK's functions get the pool, too, and with that would all depend on each other: of theirs only places count
        that are named in the call.
        """
        if one.callee is not None and one.callee[0] == "@" and self._function(number, one.callee) is None:
            of_pmdk = one.callee.startswith(PMDK)
            for place in (place for name in one.operands for place in self._points_to((number, name))):
                if not (of_pmdk and place[0] == _POINTEE):
                    yield from (place, *self._inside.get(place, ()))

    @cached_property
    def _writers(self) -> dict[Memory, list[Node]]:
        """Who may write a place."""
        found: dict[Memory, list[Node]] = defaultdict(list)
        for node, one in self.nodes():
            written = set(self._given_away(node[0], one))
            for name in one.operands[_WRITTEN.get(one.opcode, _NONE)]:
                written |= self._points_to((node[0], name))
            for memory in written:
                found[memory].append(node)
        return found

    def _points_to(self, value: Value, depth: int = 0) -> frozenset[Memory]:
        """The places that a value may be the address of."""
        if value not in self._pointed:
            found: set[Memory] = set()
            waiting, seen = [value], set()
            while waiting:
                one = waiting.pop()
                if one not in seen:
                    seen.add(one)
                    places, others = self._step(one, depth)
                    found |= places
                    waiting += others
            if depth:
                return frozenset(found)
            self._pointed[value] = frozenset(found)
        return self._pointed[value]

    def _step(self, value: Value, depth: int) -> tuple[set[Memory], list[Value]]:
        """Places that a value is the address of, and values that it may be the same as."""
        number, name = value
        if name[0] == "@":
            return {("variable", name)}, []
        if value not in self._made:
            return set(), list(self._arguments(value))
        one = self.functions[number].instructions[self._made[value][1]]
        if one.opcode == "alloca":
            return {("local", *value)}, []
        if one.field is not None:
            return {("field", *one.field)}, []
        if one.opcode == "load" and one.operands:
            at = (number, one.operands[-1])
            if at in self._kept:
                return set(), self._kept[at]
            return {(_POINTEE, place) for place in self._points_to(at, depth + 1)} if depth < _DEEP else set(), []
        if one.callee is not None:
            returned = [
                (called, value)
                for called, _ in self._called(number, one)
                for last in self.functions[called].instructions
                if last.opcode == "ret"
                for value in last.operands
            ]
            return set(), returned
        operands = one.operands[:1] if one.opcode == "getelementptr" else one.operands
        return set(), [(number, operand) for operand in operands]

    def _deciding(self, number: int, block: int) -> list[Node]:
        """The branches that decide whether a block is executed."""
        if number not in self._control:
            last = {one.block: at for at, one in enumerate(self.functions[number].instructions)}
            deciding = deciding_blocks(self.functions[number].successors)
            self._control[number] = [
                [(number, last[other]) for other in others if other in last] for others in deciding
            ]
        return self._control[number][block]


def deciding_blocks(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each block those whose branch decides whether it is reached (Ferrante, Ottenstein and Warren)."""
    after = _always_behind(successors)
    deciding: list[list[int]] = [[] for _ in successors]
    for block, following in enumerate(successors):
        reached = 0
        for next_block in following:
            reached |= after[next_block]
        sometimes = reached & ~(after[block] & ~(1 << block))
        for other in range(len(successors)):
            if sometimes >> other & 1:
                deciding[other].append(block)
    return deciding


def _always_behind(successors: Sequence[Sequence[int]]) -> list[int]:
    """For each block those that every way from it to the end comes through, as bits; it is one of them."""
    everything = (1 << len(successors)) - 1
    after = [everything] * len(successors)
    changed = True
    while changed:
        changed = False
        for block in reversed(range(len(successors))):
            common = everything if successors[block] else 0
            for next_block in successors[block]:
                common &= after[next_block]
            changed |= after[block] != common | 1 << block
            after[block] = common | 1 << block
    return after

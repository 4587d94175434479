"""Who computes which value of a program, and who calls which function with what.

Before: the functions of all modules. After: these questions answered, also for calls through pointers (any function
that something refers to and that takes as many arguments) and through libraries (they may call what they are given).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from powercut.heal.bitcode.program import Function, Instruction

Value = tuple[int, str]  # the number of a function, and a name in it
Node = tuple[int, int]  # the number of a function, and of an instruction in it


class Calls:
    """Functions, and how values go through their calls."""

    def __init__(self, functions: Sequence[Function], referred: set[str]) -> None:
        """`referred`: functions that variables refer to, which may be called through these."""
        self.functions = functions
        self._by_name = {f.name: number for number, f in enumerate(functions) if not f.internal}
        self._in_module = {(f.module, f.name): number for number, f in enumerate(functions)}
        self._referred = referred | {name for _, one in self.nodes() for name in one.operands if name[0] == "@"}
        self._made = {(node[0], one.result): node for node, one in self.nodes() if one.result is not None}
        self._callers: dict[int, list[tuple[Node, Sequence[str | None]]]] = defaultdict(list)
        for node, one in self.nodes():
            for number, arguments in self.called(node[0], one):
                self._callers[number].append((node, arguments))

    def nodes(self) -> Iterator[tuple[Node, Instruction]]:
        """All instructions."""
        for number, function in enumerate(self.functions):
            for at, one in enumerate(function.instructions):
                yield (number, at), one

    def instruction(self, node: Node) -> Instruction:
        """One of them."""
        return self.functions[node[0]].instructions[node[1]]

    def maker(self, value: Value) -> Node | None:
        """What computes a value; None for a parameter, a constant, a variable."""
        return self._made.get(value)

    def callers(self, number: int) -> Iterator[Node]:
        """The calls of a function."""
        return (node for node, _ in self._callers[number])

    def arguments(self, value: Value) -> Iterator[Value]:
        """What a parameter may be; of anything else, nothing."""
        number, name = value
        parameters = self.functions[number].parameters
        if name in parameters:
            at = parameters.index(name)
            for (caller, _), arguments in self._callers[number]:
                if at < len(arguments) and (given := arguments[at]) is not None:
                    yield caller, given

    def called(self, number: int, one: Instruction) -> Iterator[tuple[int, Sequence[str | None]]]:
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
        else:  # a library calls with one of the other arguments
            for callback in (self._function(number, name) for name in one.operands):
                if callback is not None:
                    yield from ((callback, [name]) for name in one.operands)

    def returns(self, number: int, one: Instruction) -> Iterator[Node]:
        """The ends of all functions that an instruction may call."""
        for called, _ in self.called(number, one):
            code = self.functions[called].instructions
            yield from ((called, at) for at, last in enumerate(code) if last.opcode == "ret")

    def leaves(self, number: int, one: Instruction) -> bool:
        """Whether an instruction calls a function that has no body here."""
        return one.callee is not None and one.callee[0] == "@" and self._function(number, one.callee) is None

    def _function(self, caller: int, name: str) -> int | None:
        return self._in_module.get((self.functions[caller].module, name), self._by_name.get(name))

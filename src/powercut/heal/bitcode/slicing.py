"""Which lines of a service's code may lead to a failing one: the backward slice.

Before: bitcode that the user gave, and the call stack of a failure. After: the steps of a plan, those first that a line
in the slice made; none is dropped, and otherwise their order stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from powercut.errors import UsageError
from powercut.heal.bitcode.assembly import assembly_of
from powercut.heal.bitcode.calls import Calls, Node
from powercut.heal.bitcode.dependences import Dependences
from powercut.heal.bitcode.memory import PMDK
from powercut.heal.bitcode.program import Function, Line, functions_of, globals_used
from powercut.heal.heal_plan import Step
from powercut.quick_dataclass import dataclass
from powercut.trace.symbols import Frame

PlaceOf = Callable[[int], Frame | None]  # the line that made a record


@dataclass(frozen=True, slots=True)
class Slice:
    """Code that may lead to a failure.

    Attributes:
        lines: that may.
        others: lines of the code that is known which may not.
        functions: that write memory on which the failure may depend.
    """

    lines: frozenset[Line]
    others: frozenset[Line]
    functions: frozenset[str]

    def rank(self, frame: Frame | None) -> int:
        """2 for a line that does not lead there, 1 if its function writes what does; 0 for all others, known or not."""
        if frame is None or _line(frame) not in self.others:
            return 0
        return 1 if frame.function in self.functions else 2


class StaticCode:
    """The code of a service, from all bitcode that was given."""

    def __init__(self, files: Sequence[Path]) -> None:
        functions: list[Function] = []
        referred: set[str] = set()
        for module, file in enumerate(files):
            text = assembly_of(file)
            found = list(functions_of(text, module))
            if not any(one.line for function in found for one in function.instructions):
                raise UsageError("bad-bitcode", f"{file} has no line information.", "Compile it with clang -g.")
            functions += (function for function in found if not function.name.startswith(PMDK))
            referred |= globals_used(text)
        self._calls = Calls(functions, referred)
        self._dependences = Dependences(self._calls)
        self._at: dict[Line, list[Node]] = {}
        for node, one in self._calls.nodes():
            if one.line is not None:
                self._at.setdefault(one.line, []).append(node)

    def slice_of(self, stacks: Iterable[Iterable[Frame]]) -> Slice | None:
        """What may lead to the innermost lines of stacks that the code knows; None: it knows none of them."""
        seeds = [node for stack in stacks for node in self._known(stack)]
        return self._as_slice(self._dependences.slice_of(seeds)) if seeds else None

    def _known(self, stack: Iterable[Frame]) -> list[Node]:
        known = (self._at.get(line) for frame in stack if (line := _line(frame)) is not None)
        return next((nodes for nodes in known if nodes), [])

    def _as_slice(self, nodes: Iterable[Node]) -> Slice:
        lines, writing = set(), set()
        for node in nodes:
            one = self._calls.instruction(node)
            if one.line is not None:
                lines.add(one.line)
            if one.opcode == "store":
                writing.add(self._calls.functions[node[0]].name.lstrip("@").strip('"'))
        return Slice(frozenset(lines), frozenset(self._at.keys() - lines), frozenset(writing))


def in_order(steps: Sequence[Step], found: Slice, place: PlaceOf) -> Iterator[Step]:
    """The steps, by rank; the reason tells which ones a line of the slice made."""
    placed = [(place(step.cause), step) for step in steps]
    for frame, step in sorted(placed, key=lambda pair: found.rank(pair[0])):
        leads = frame is not None and _line(frame) in found.lines
        yield replace(step, why=f"{step.why}; its line leads to the failing one") if leads else step


def _line(frame: Frame) -> Line | None:
    return (PurePath(frame.file).name, frame.line) if frame.file and frame.line else None

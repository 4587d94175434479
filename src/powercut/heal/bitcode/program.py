"""A program, parsed from LLVM assembly: functions, blocks, instructions with their operands and lines.

Before: the text of one or more modules, which nobody vouches for: what is not understood is left out. After: all that
`dependences` needs. Optimised code is read, too, but `-O0` tells more: each access to a field of a structure names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import PurePath

from powercut.heal.bitcode.types import Field, Types, split
from powercut.quick_dataclass import dataclass

_NAME = r'(?:"[^"]*"|[\w.$-]+)'
_VALUE = re.compile(rf"[%@]{_NAME}")
_DEFINE = re.compile(rf"define (?P<kind>.*?)(?P<name>@{_NAME})\((?P<parameters>.*)\)")
_LABEL = re.compile(rf"({_NAME}):")
_INSTRUCTION = re.compile(
    rf"(?:(?P<result>%{_NAME}) = )?(?:(?:tail|musttail|notail) )?(?P<opcode>[a-z]+)\b(?P<rest>.*)"
)
_CALLEE = re.compile(rf"([%@]{_NAME})\(")
_TARGET = re.compile(rf"label (%{_NAME})")
_LINE = re.compile(r"!dbg (!\d+)")
_METADATA = re.compile(r"(!\d+) = (?:distinct )?!(DI\w+)\((.*)\)")
_SCOPE, _FILE = re.compile(r"\bscope: (!\d+)"), re.compile(r"\bfile: (!\d+)")
_NUMBER, _FILENAME = re.compile(r"\bline: (\d+)"), re.compile(r'\bfilename: "([^"]*)"')
_CALLS = ("call", "invoke", "callbr")
_SILENT = ("@llvm.dbg.", "@llvm.lifetime.")
Line = tuple[str, int]  # the name of a file without its folder, and a number


@dataclass(slots=True)
class Instruction:
    """One instruction.

    Attributes:
        operands: values that it uses, in order: `%local` or `@global`.
        callee, arguments: of a call; an argument that is a constant is None.
        field: of a `getelementptr` into a structure: its type and the number of the field.
        inside: the fields of that field, if it is a structure itself.
    """

    opcode: str
    result: str | None
    operands: list[str]
    block: int
    line: Line | None = None
    callee: str | None = None
    arguments: list[str | None] = field(default_factory=list)
    field: Field | None = None
    inside: Sequence[Field] = ()


@dataclass(slots=True)
class Function:
    """A function that has a body.

    Attributes:
        module: the number of its module.
        internal: whether other modules cannot call it by its name.
        successors: of each block, by number.
    """

    module: int
    name: str
    internal: bool
    parameters: list[str]
    instructions: list[Instruction] = field(default_factory=list)
    successors: list[list[int]] = field(default_factory=list)


def functions_of(text: str, module: int) -> Iterator[Function]:
    """The functions of a module's assembly."""
    lines = text.splitlines()
    types, places = Types(lines), _Places(lines)
    at = 0
    while at < len(lines):
        head = _DEFINE.match(lines[at])
        if head is None:
            at += 1
            continue
        end = next((i for i in range(at, len(lines)) if lines[i].startswith("}")), len(lines))
        yield _Body(head, lines[at + 1 : end], types, places).function(module)
        at = end + 1


def globals_used(text: str) -> set[str]:
    """What the initial values of variables refer to: functions in tables, for example."""
    return {name for line in text.splitlines() if line.startswith("@") for name in _VALUE.findall(line)[1:]}


class _Body:
    """One function, while it is read."""

    def __init__(self, head: re.Match[str], lines: Sequence[str], types: Types, places: _Places) -> None:
        words = head["kind"].split()
        self._internal = "internal" in words or "private" in words
        self._name = head["name"]
        ends = (_VALUE.findall(part)[-1:] for part in split(head["parameters"]))
        self._parameters = [end[0] for end in ends if end]
        self._lines = list(_joined(lines))
        results = (match["result"] for line in self._lines if (match := _INSTRUCTION.match(line)))
        self._known = {*self._parameters, *(result for result in results if result)}
        self._types, self._places = types, places

    def function(self, module: int) -> Function:
        function = Function(module, self._name, self._internal, self._parameters)
        labels: dict[str, int] = {}
        targets: list[list[str]] = [[]]
        for line in self._lines:
            label, match = _LABEL.match(line), _INSTRUCTION.match(line)
            if label is not None:
                if function.instructions or labels:
                    targets.append([])
                labels[f"%{label[1]}"] = len(targets) - 1
            elif match is not None and not any(silent in line for silent in _SILENT):
                function.instructions.append(self._instruction(match, len(targets) - 1))
                targets[-1] += _TARGET.findall(line)
        function.successors = [[labels[name] for name in names if name in labels] for names in targets]
        return function

    def _instruction(self, match: re.Match[str], block: int) -> Instruction:
        text = match["rest"].partition(", !")[0]
        found = Instruction(match["opcode"], match["result"], self._values(text), block)
        line = _LINE.search(match["rest"])
        found.line = self._places.line(line[1]) if line else None
        if found.opcode == "getelementptr":
            found.field = self._types.field(text)
            found.inside = self._types.inside(found.field) if found.field else ()
        callee = _CALLEE.search(text) if found.opcode in _CALLS else None
        if callee is not None:
            found.callee = callee[1]
            parts = split(_balanced(text[callee.end() :]))
            found.arguments = [next(reversed(self._values(part)), None) for part in parts]
            found.operands = [value for value in found.arguments if value is not None]
        return found

    def _values(self, text: str) -> list[str]:
        return [name for name in _VALUE.findall(text) if name[0] == "@" or name in self._known]


class _Places:
    """Lines of the debugging information."""

    def __init__(self, lines: Sequence[str]) -> None:
        found = (match for line in lines if line.startswith("!") and (match := _METADATA.match(line)))
        self._nodes = {match[1]: (match[2], match[3]) for match in found}

    def line(self, node: str) -> Line | None:
        """The line of a location."""
        _, text = self._nodes.get(node, ("", ""))
        number, scope = _NUMBER.search(text), _SCOPE.search(text)
        _, inside = self._nodes.get(scope[1], ("", "")) if scope else ("", "")
        file = _FILE.search(inside)
        _, description = self._nodes.get(file[1], ("", "")) if file else ("", "")
        name = _FILENAME.search(description)
        return (PurePath(name[1]).name, int(number[1])) if name and number and number[1] != "0" else None


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Instructions and labels, each in one line and without its indentation."""
    waiting = ""
    for line in lines:
        if line.startswith(("   ", "  ]")) and not line.lstrip().startswith("#dbg"):
            waiting += " " + line.strip()
        else:
            yield from [waiting] * bool(waiting)
            waiting = "" if line.lstrip().startswith(("#dbg", ";")) else line.strip()
    yield from [waiting] * bool(waiting)


def _balanced(text: str) -> str:
    """What stands before the bracket that closes one which is open."""
    depth = 1
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return text[:at]
    return text

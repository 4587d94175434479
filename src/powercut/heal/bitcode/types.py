"""Types of a module in LLVM's assembly: which field of which structure a `getelementptr` leads to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_STRUCTURE = re.compile(r'(%(?:"[^"]*"|[\w.$-]+)) = type <?\{(.*)\}>?')
_ARRAY = re.compile(r"\[\d+ x (.*)\]")
Field = tuple[str, int]  # a structure, and the number of a field in it
_FLAGS = re.compile(r"^(?:\s*(?:inbounds|nuw|nusw)\b)*\s*")


def split(text: str) -> list[str]:
    """Parts between commas that stand in no brackets."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in (*parts, text[begin:]) if part.strip()]


class Types:
    """The structures of a module, by name."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = (match for line in lines if line.startswith("%") and (match := _STRUCTURE.match(line)))
        self._structures = {match[1]: split(match[2]) for match in found}

    def field(self, text: str) -> Field | None:
        """The innermost structure that the operands of a `getelementptr` step into, and the field; None: into none."""
        kind, *operands = split(_FLAGS.sub("", text)) or [""]
        found = None
        for index in (operand.rpartition(" ")[2] for operand in operands[2:]):
            array = _ARRAY.fullmatch(kind)
            if array is not None:
                kind = array[1]
            elif kind in self._structures and index.isdigit() and int(index) < len(self._structures[kind]):
                found = (kind, int(index))
                kind = self._structures[kind][int(index)]
            else:
                break
        return found

    def inside(self, field: Field) -> list[Field]:
        """The fields of a structure that a field is, or of which it is an array; and those inside them."""
        return list(self._inside(self._structures[field[0]][field[1]], frozenset()))

    def _inside(self, kind: str, around: frozenset[str]) -> Iterator[Field]:
        while array := _ARRAY.fullmatch(kind):
            kind = array[1]
        if kind not in around:
            for index, inner in enumerate(self._structures.get(kind, ())):
                yield kind, index
                yield from self._inside(inner, around | {kind})

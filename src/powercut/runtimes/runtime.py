"""What a runtime is: the interface of the modules beside this one.

Before: nothing of the program has run. After: its environment leads to the runtime's agent; and a stack as the agent
told it is a list of frames, the innermost one first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from powercut.quick_dataclass import dataclass

AGENTS = Path(__file__).parent / "agents"


@dataclass(frozen=True, slots=True)
class ToldFrame:
    """One level of a stack, as the runtime tells it.

    Attributes:
        file: absolute where it can be; None for code without a file.
        column: counted from 1, where it is known.
    """

    function: str
    file: str | None
    line: int | None
    column: int | None = None


class Runtime(Protocol):
    """A language's runtime.

    Attributes:
        language: what its agent calls itself in what it tells.
        title: its name for people.
        programs: names of the programs whose lines only its agent knows; None if there are none.
    """

    language: str
    title: str
    programs: re.Pattern[str] | None

    def variables(self, known: Mapping[str, str]) -> dict[str, str]:
        """What is put into the environment `known`: a variable's name and its whole new value."""

    def frames(self, text: str) -> list[ToldFrame]:
        """A stack that the agent told, innermost frame first. The text is the program's, hence untrusted."""

    def is_own(self, function: str, file: str | None) -> bool:
        """Whether a frame is a line of the program itself: neither the language's library nor a package."""

    def is_standard(self, function: str, file: str | None) -> bool:
        """Whether it is of the library that comes with the language."""


def joined(known: str | None, addition: str, separator: str = " ") -> str:
    """A variable's value with something put in front of it: the agent comes before all else."""
    return addition if not known else f"{addition}{separator}{known}"


def table_frames(text: str) -> list[ToldFrame]:
    """Frames of lines with tabs between function, file and line: what agents of our own tell."""
    found = []
    for row in text.splitlines():
        function, file, line = (*row.split("\t"), "", "")[:3]
        found.append(ToldFrame(function or "?", file or None, int(line) if line.isdecimal() and int(line) else None))
    return found

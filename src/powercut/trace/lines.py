"""Functions, files and lines behind addresses of an ELF file, from its debug information.

Before: a file with DWARF 2 to 5, and addresses in it. After: for each address that it tells something of, the functions
there, the innermost inlined one first. `powercut-lines` (native/lines) reads it with libdw of elfutils, in a process of
its own: damaged debug information costs lines, never the report.

What it says is what gdb says, or, where gdb differs, what the line table says (test_lines_like_gdb.py). Other readers
were measured: bench/README.md.
"""

from __future__ import annotations

import posixpath
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from powercut import _engine
from powercut.quick_dataclass import dataclass

_SECONDS = 120
"""A debug build of a browser takes a few; beyond this a report without lines is better than none."""

_FIELDS = 4  # of each function


@dataclass(frozen=True, slots=True)
class Line:
    """One function at an address, and where in it; what is not known is None, or an empty name.

    Attributes:
        function: as linkers know it, where it has such a name.
        column: counted from 1.
    """

    function: str
    file: str | None
    line: int | None
    column: int | None


def line_reader() -> Path | None:
    """The program that reads lines; None where powercut was built without libdw."""
    path = Path(_engine.__file__).parent / "_native" / "powercut-lines"
    return path if path.is_file() else None


def read_lines(reader: Path, path: str, addresses: Sequence[int]) -> dict[int, list[Line]]:
    """What the debug information in a file says of addresses; those that it says nothing of are left out."""
    asked = "".join(f"{address:x}\n" for address in addresses).encode()
    try:
        done = subprocess.run([reader, path], input=asked, capture_output=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {address: lines for address, lines in _answers(done.stdout.split(b"\0")) if lines}


def _answers(parts: list[bytes]) -> Iterator[tuple[int, list[Line]]]:
    """Each address of the answer with its functions; an answer that breaks off ends there."""
    at = 0
    while at + 1 < len(parts):
        address, count = int(parts[at], 16), int(parts[at + 1])
        at += 2
        end = at + _FIELDS * count
        if end >= len(parts):  # the last part is what follows the last NUL
            return
        yield address, [_line(*parts[start : start + _FIELDS]) for start in range(at, end, _FIELDS)]
        at = end


def _line(function: bytes, file: bytes, line: bytes, column: bytes) -> Line:
    name = function.decode("utf-8", "replace")
    if not file or int(line) <= 0:
        return Line(name, None, None, None)
    path = posixpath.normpath(file.decode("utf-8", "surrogateescape"))
    return Line(name, path, int(line), int(column) or None)

"""Ids that stay the same: from run to run, from machine to machine, and when lines of the source only move.

A place is identified by the file's name, the function, and the text of the line, as long as the source can be read;
among equal lines of a function by which of them it is. Where the source is not there, the line number must do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from powercut.findings.sources import sources

if TYPE_CHECKING:
    from powercut.findings.finding import Location

PROVISIONAL = "provisional-"  # begins the name of a finding whose cause is not known yet; no baseline takes it
_LENGTH = 8  # hexadecimal digits
_NAME = re.compile(r"(\w+)\W*$")


def identify(kind: str, locations: Iterable[Location]) -> str:
    """The id of what went wrong, and where."""
    places = "|".join(
        f"{loc.role}:{PurePath(loc.file or '?').name}:{_line(loc)}:{loc.function}"
        f"{f':{loc.detail}' if loc.detail else ''}"
        for loc in locations
    )
    return hashlib.sha256(f"{kind}|{places}".encode("utf-8", "surrogateescape")).hexdigest()[:_LENGTH]


def _line(place: Location) -> str:
    """What stands for a line: its text and which of its equals it is, or its number.

    Where the detail names what is changed, that tells equal lines apart: it stays when one of them is mended.
    """
    lines, line = sources().lines(place.file), place.line
    text = _squeezed(lines[line - 1]) if line and 0 < line <= len(lines) else ""
    if not text or not line:
        return str(line)
    if " " in place.detail:
        return text
    before = lines[_start_of(place.function, lines, line) : line - 1]
    return f"{text}#{sum(_squeezed(other) == text for other in before)}"


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _start_of(function: str | None, lines: list[str], line: int) -> int:
    """The line, counted from 0, where the function around a line begins; 0 if that cannot be told.

    It is the last one above that names the function without being indented deeper than a definition: calls of itself
    are, so all lines of a function count from the same one.
    """
    name = _NAME.search((function or "").partition("(")[0])
    if name is None:
        return 0
    definition = re.compile(rf"(\s*(async\s+)?def\s+|\S.*\b|){re.escape(name[1])}\s*\(")
    return next((number for number in range(line - 1, -1, -1) if definition.match(lines[number])), 0)

"""A place in the program as JSON reports have it: documented in docs/findings.md."""

from __future__ import annotations

import msgspec

from powercut.findings.finding import Location


class LocationDocument(msgspec.Struct):
    """One place; its call stack is one line for each frame."""

    file: str | None
    line: int | None
    function: str | None
    role: str
    what: str
    stack: tuple[str, ...]
    detail: str
    inside: str
    asked: str
    process: str

    @property
    def short(self) -> str:
        """The place without its folder, for tables."""
        return Location(self.file, self.line, self.function, self.role).short


def location_document(location: Location) -> LocationDocument:
    """A place in its documented form."""
    return LocationDocument(**{name: getattr(location, name) for name in LocationDocument.__struct_fields__})

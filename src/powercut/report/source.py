"""Source lines for reports: those of the run that is reported, where it has kept them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from powercut.findings.finding import Location
from powercut.findings.sources import sources
from powercut.trace.symbols import is_runtime

_OF_GO_RUN = "/go-build"  # in the path of a program that `go run` has built


def source_lines(file: str | None) -> list[str]:
    """The lines of a source; none where it is not at hand."""
    return sources().lines(file)


def source_line(file: str | None, line: int | None) -> str:
    """The text of one line, empty where the source is not at hand."""
    return sources().line_text(file, line)


def changes_told(files: list[str], most: int = 3) -> str:
    """What to say of sources that have changed since the run."""
    some = ", ".join(files[:most]) + (" and more" if files[most:] else "")
    have, are = ("have", "are") if len(files) > 1 else ("has", "is")
    return f"{some} {have} changed or {are} gone since this run. The lines shown are those of the run."


def line_hint(locations: Sequence[Location]) -> list[str]:
    """What to do if compiled code took part and not one line is known; nothing otherwise."""
    compiled = [location for location in locations if location.function and location.frames]
    if not compiled or any(location.line is not None for location in locations):
        return []
    modules = {frame.module for location in compiled for frame in location.frames if frame.module}
    if any(_OF_GO_RUN in module for module in modules):
        return ["  no line is known: go run has removed the program it built. Test what go build makes"]
    scripted = sorted(PurePath(module).name for module in modules if is_runtime(module))
    if scripted:
        return [f"  no line is known: powercut learns no lines from {scripted[0]} here (see docs/runtimes.md)"]
    return ["  no line is known: compile the program with -g to see lines"]

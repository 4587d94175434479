"""Source excerpts: the lines around each frame of a stack whose source is at hand."""

from __future__ import annotations

from pathlib import Path, PurePath

from powercut.findings.finding import Location
from powercut.quick_dataclass import dataclass
from powercut.report.problems import Step, steps
from powercut.report.source import source_lines

_AROUND = 3  # lines before and after
_MOST_FRAMES = 12  # innermost ones


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One frame.

    Attributes:
        words: the function.
        place: file and line, below the root of the sources without that.
        lines: (number, text, whether it is the line itself); none without a source.
        own: whether it is the place itself, not one on the way to it.
    """

    words: str
    place: str
    lines: list[tuple[int, str, bool]]
    own: bool


def excerpts(location: Location, root: Path) -> list[Excerpt]:
    """The stack of a place, innermost first; a place without a stack is its own only frame."""
    frames = list(steps(location))[::-1][:_MOST_FRAMES]
    own = (location.file, location.line)
    found = frames or [Step(location.function or "", *own)]
    return [_excerpt(step, root, (step.file, step.line) == own) for step in found]


def _excerpt(step: Step, root: Path, own: bool) -> Excerpt:
    line = step.line or 0
    source = source_lines(step.file) if line > 0 else []
    first = max(1, line - _AROUND)
    shown = source[first - 1 : line + _AROUND] if line <= len(source) else []
    lines = [(number, text.rstrip("\n").expandtabs(4), number == line) for number, text in enumerate(shown, first)]
    place = f"{_below(step.file, root)}:{line}" if step.file else ""
    return Excerpt(step.words, place, lines, own)


def _below(file: str, root: Path) -> PurePath:
    path = PurePath(file)
    return path.relative_to(root) if path.is_relative_to(root) else path

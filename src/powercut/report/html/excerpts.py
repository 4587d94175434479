"""Source excerpts: the lines around each frame of a stack whose source is at hand."""

from __future__ import annotations

from dataclasses import dataclass

from powercut.findings.finding import Location
from powercut.report.problems import Step, steps
from powercut.report.source import source_lines

_AROUND = 3  # lines before and after
_MOST_FRAMES = 12  # innermost ones


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One frame: in words, and its lines as (number, text, whether it is the line itself); none without a source."""

    words: str
    place: str
    lines: list[tuple[int, str, bool]]


def excerpts(location: Location) -> list[Excerpt]:
    """The stack of a place, innermost first; a place without a stack is its own only frame."""
    frames = list(steps(location))[::-1][:_MOST_FRAMES]
    return [_excerpt(step) for step in frames or [Step(location.function or "", location.file, location.line)]]


def _excerpt(step: Step) -> Excerpt:
    line = step.line or 0
    source = source_lines(step.file) if line > 0 else []
    first = max(1, line - _AROUND)
    shown = source[first - 1 : line + _AROUND] if line <= len(source) else []
    lines = [(number, text.rstrip("\n").expandtabs(4), number == line) for number, text in enumerate(shown, first)]
    return Excerpt(step.words, f"{step.file}:{line}" if step.file else "", lines)

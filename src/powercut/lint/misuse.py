"""A misuse: one lint finding, in the form in which it is saved and reported."""

from __future__ import annotations

import re
from dataclasses import field

from powercut.findings.finding import Location
from powercut.findings.identity import identify
from powercut.lint.patterns import PAIRS, Pattern, Severity
from powercut.quick_dataclass import dataclass

_MOST_FILES = 3  # named in a sentence
_BRACKETS = re.compile(r"\[(.*?)\]")


@dataclass(slots=True)
class Misuse:
    """One root cause.

    Attributes:
        pattern, why: as in `patterns.py`.
        locations: the place itself, then the other side, where there is one.
        count: how often it was seen.
        executed: of how many executions of that flush, fence or sync; 0 where that is not counted.
        files: what it is about, in the data folder.
        finding: id of a finding that shows the same line to be lost: a crash state confirms it.
        known: why it is in the baseline; None if it is not.
    """

    pattern: str
    why: str
    severity: str
    harm: str
    title: str
    message: str
    locations: list[Location]
    count: int
    executed: int
    files: list[str]
    advice: str
    id: str = ""
    finding: str | None = None
    known: str | None = None
    stacks: int = field(default=1)  # different ways to get there

    @property
    def is_bug(self) -> bool:
        """Whether it is wrong for sure."""
        return self.severity == Severity.BUG

    @property
    def kind(self) -> str:
        """What a baseline calls it."""
        return self.pattern


def make_misuse(pattern: Pattern, locations: list[Location], count: int, executed: int, files: list[str]) -> Misuse:
    """A misuse with its words and its id."""
    return Misuse(
        pattern=pattern.name,
        why=pattern.why,
        severity=pattern.severity.value,
        harm=pattern.harm.value,
        title=pattern.title,
        message=_message(pattern, locations, files),
        locations=locations,
        count=count,
        executed=executed,
        files=files,
        advice=pattern.advice,
        id=identify(f"{pattern.name}/{pattern.why}", locations if pattern in PAIRS else locations[:1]),
    )


def _message(pattern: Pattern, locations: list[Location], files: list[str]) -> str:
    other = locations[1].short if len(locations) > 1 else ""
    text = _BRACKETS.sub(r"\1" if other else "", pattern.message)
    return text.format(place=locations[0].short, other=other or "another place", files=_files(files))


def _files(names: list[str]) -> str:
    if not names:
        return "the file"
    more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
    return ", ".join(names[:_MOST_FILES]) + more

"""Sightings: patterns as the passes over a trace see them, at call stacks that are not resolved yet.

Before: events. After: for each pattern and call stack how often it was seen, with the stack of the other side.
`analysis.py` turns them into misuses, which have places and words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from powercut.lint.patterns import Pattern
from powercut.quick_dataclass import dataclass


@dataclass(slots=True)
class Sighting:
    """One pattern at one call stack.

    Attributes:
        stack: of what the pattern is about; 0 if no stacks were recorded.
        other: of the other side, or of an example of it; 0 if there is none.
        count: how often it was seen.
        executed: how often that flush, fence or sync was executed at all; 0 where that is not counted.
        most: how many stores or lines it was about at most; 0 where that is not counted.
        files: the names of the files, as far as they have one.
    """

    pattern: Pattern
    stack: int
    other: int = 0
    count: int = 0
    executed: int = 0
    most: int = 0
    files: set[bytes] = field(default_factory=set)


class Sightings:
    """Collects what is seen, once for each pattern and pair of stacks."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Pattern, int, int], Sighting] = {}

    def __iter__(self) -> Iterator[Sighting]:
        return iter(self._seen.values())

    def add(
        self, pattern: Pattern, stack: int, other: int = 0, *, file: bytes | None = None, count: int = 1
    ) -> Sighting:
        """See a pattern once more."""
        key = (pattern, stack, other)
        if key not in self._seen:
            self._seen[key] = Sighting(pattern, stack, other)
        found = self._seen[key]
        found.count += count
        if file:
            found.files.add(file)
        return found

"""A section of the page: what one part of a run comes to, and the template that shows it.

A new one is a module in `sections/` with a function `section` of the `Material`, which returns None where the run has
nothing for it; a template of the same name beside it; and its place in `sections.SECTIONS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powercut.quick_dataclass import dataclass
from powercut.report.html.evidence import EvidenceRoom
from powercut.report.problems import Problem
from powercut.runs.store import SavedRun


@dataclass(frozen=True, slots=True)
class Material:
    """What sections are made of.

    Attributes:
        problems: those of the run, findings first.
        room: what the trace shows of each finding, and what is missing for that.
        root: sources below it are named without it.
    """

    run: SavedRun
    problems: list[Problem]
    room: EvidenceRoom
    root: Path


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        name: its address in the page, and its template's name.
        count: how many things it holds, for the navigation; None where nothing is counted.
        data: what the template is given.
    """

    name: str
    title: str
    count: int | None
    data: dict[str, Any]

    @property
    def template(self) -> str:
        """The template that shows it."""
        return f"sections/{self.name}.html.j2"

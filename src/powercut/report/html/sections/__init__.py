"""The sections of the page, in their order."""

from __future__ import annotations

from collections.abc import Callable

from powercut.report.html.section import Material, Section
from powercut.report.html.sections import about, analysis, coverage, findings, syncs

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    findings.section,
    analysis.section,
    syncs.section,
    coverage.section,
    about.section,
)

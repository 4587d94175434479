"""Findings: crash states on which the check fails, each with its evidence."""

from __future__ import annotations

from powercut.report.html.entries import finding_entries
from powercut.report.html.section import Material, Section


def section(material: Material) -> Section | None:
    """The findings of a run that searched crash states; that there are none is worth saying, too."""
    run = material.run
    if not run.findings and not run.states:
        return None
    entries = finding_entries(material.problems[: len(run.findings)], run.findings, material.room, material.root)
    return Section("findings", "Findings", len(entries), {"entries": entries})

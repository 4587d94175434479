"""A whole run as text: its findings, then what the trace analysis says."""

from __future__ import annotations

import shlex
from pathlib import Path

from powercut.findings.sources import Sources, reading
from powercut.printable import printable
from powercut.report.assertions import check_text
from powercut.report.finding_text import summary
from powercut.report.lint import section
from powercut.report.problems import changed_sources
from powercut.report.race import raced_text
from powercut.report.source import changes_told
from powercut.runs.store import SavedRun


def run_text(run: SavedRun, folder: Path) -> str:
    """What a command prints at its end, with the sources that the run has kept."""
    with reading(Sources(folder)):
        text, changed = _text(run, folder), changed_sources(run)
    return f"{text}\nnote: {printable(changes_told(changed))}" if changed else text


def _text(run: SavedRun, folder: Path) -> str:
    if run.assertions:
        return check_text(run, folder)
    if run.race:
        return raced_text(run, folder)
    trace = shlex.quote(str(folder / "trace"))
    return summary(run, folder, section(run.misuses, trace) if run.misuses else "")

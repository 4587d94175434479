"""A whole run as text: its findings, then what the trace analysis says."""

from __future__ import annotations

import shlex
from pathlib import Path

from powercut.report.assertions import check_text
from powercut.report.lint import section
from powercut.report.race import raced_text
from powercut.report.text import summary
from powercut.run.store import SavedRun


def run_text(run: SavedRun, folder: Path) -> str:
    """What a command prints at its end."""
    if run.assertions:
        return check_text(run, folder)
    if run.race:
        return raced_text(run, folder)
    trace = shlex.quote(str(folder / "trace"))
    return summary(run, folder, section(run.misuses, trace) if run.misuses else "")

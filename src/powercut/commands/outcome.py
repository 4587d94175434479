"""What every exploring command does at its end: print the findings, write the JSON, choose the exit code."""

from __future__ import annotations

from pathlib import Path

import click

from powercut.report.document import encode
from powercut.report.text import summary
from powercut.run.session import exit_code
from powercut.run.store import SavedRun, write_durably


def report_run(run: SavedRun, folder: Path, json_file: str | None) -> int:
    """Report a finished run; its exit code."""
    click.echo(summary(run, folder))
    if json_file is not None:
        write_durably(Path(json_file), encode(run))
    return int(exit_code(run))

"""What every exploring command does at its end: print the findings, write the JSON, choose the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from powercut.commands.main import INTERRUPTED, stop_printing
from powercut.report.document import document
from powercut.report.run import run_text
from powercut.run.figures import exit_code
from powercut.run.store import SavedRun, to_json, write_durably

STANDARD_OUTPUT = "-"


def report_run(run: SavedRun, folder: Path, json_file: str | None) -> int:
    """Report a finished run; its exit code.

    Findings count even if the search was interrupted; a search that was interrupted with nothing found says nothing.
    """
    write_report(run_text(run, folder), document(run), json_file)
    return INTERRUPTED if run.interrupted and not run.new_findings else int(exit_code(run))


def write_report(text: str, report: dict[str, Any], json_file: str | None) -> None:
    """Print a report, and write its JSON to a file or, with the text out of the way, to standard output."""
    in_pipe = json_file == STANDARD_OUTPUT
    try:
        click.echo(text, err=in_pipe)
        if in_pipe:
            click.echo(to_json(report), nl=False)
    except BrokenPipeError:
        stop_printing()  # the exit code still tells, and the findings are saved
    if json_file is not None and not in_pipe:
        write_durably(Path(json_file), to_json(report))

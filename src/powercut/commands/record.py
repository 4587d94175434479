"""`powercut record`: record a program and test nothing yet."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click

from powercut.commands.grouped_help import GroupedCommand
from powercut.commands.options import common_options, record_options, settings_from, workload_argument
from powercut.errors import EnvironmentFailure, UsageError


@click.command("record", cls=GroupedCommand)
@click.option(
    "-o", "trace_file", metavar="TRACE", required=True, type=click.Path(dir_okay=False), help="The trace file to write."
)
@click.option("--force", is_flag=True, help="Overwrite an existing trace.")
@record_options
@common_options
@workload_argument
def command(workload: tuple[str, ...], trace_file: str, force: bool, **options: Any) -> int:
    """Record a program once into a trace file.

    \b
    powercut record -o run.trace --dir data -- ./server --once
    powercut explore run.trace --check ./verify.sh
    """
    settings, cwd = settings_from(options)
    path = cwd / trace_file
    _check_target(path, force)
    from powercut.record.recorder import trace_full
    from powercut.report.terminal import Terminal
    from powercut.runs.workspace import Workspace
    from powercut.trace.layout import Kind

    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with Terminal() as terminal:
            trace = Workspace(settings, cwd, terminal.tell).record(workload, unfinished)
        unfinished.rename(path)  # an older trace is replaced by a whole one, or stays
    except EnvironmentFailure as error:
        if error.slug != "trace-full" or path.exists():
            raise
        unfinished.rename(path)
        raise trace_full(path) from error
    finally:
        for ending in ("", ".out", ".err"):
            unfinished.with_name(unfinished.name + ending).unlink(missing_ok=True)
    name = shlex.quote(trace_file)
    click.echo(f"Recorded {len(trace.events)} events in {trace_file}. Next: powercut explore {name} --check CMD")
    if len(trace.of_kind(Kind.ASSERTION)):
        click.echo(f"The program has assertions. Check them with: powercut check --recheck {name}")
    return 0


def _check_target(path: Path, force: bool) -> None:
    """Refuse what would fail only after the program has run."""
    if os.path.lexists(path) and not force:
        raise UsageError("trace-exists", f"{path} already exists.", "Use --force to overwrite it.")
    if path.exists() and not path.is_file():
        raise UsageError("trace-exists", f"{path} is not a file.", "Choose another one.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        why = "is not writable" if path.parent.is_dir() else "is not a folder"
        raise EnvironmentFailure("output-unwritable", f"cannot write {path}: {path.parent} {why}.")

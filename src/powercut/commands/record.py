"""`powercut record`: only the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from powercut.commands.options import common_options, record_options, settings_from, workload_argument


@click.command("record")
@click.option(
    "-o", "trace_file", metavar="TRACE", required=True, type=click.Path(dir_okay=False), help="Trace to write."
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
    from powercut.errors import UsageError
    from powercut.report.terminal import Terminal
    from powercut.run.session import Session

    path = Path(trace_file)
    if path.exists() and not force:
        raise UsageError("trace-exists", f"{path} exists.", "Use --force to overwrite it.")
    settings, cwd = settings_from(options)
    with Terminal() as terminal:
        trace = Session(settings, cwd, terminal.tell).record(workload, cwd / path)
    click.echo(f"{len(trace.events)} events recorded in {path}. Next: powercut explore {path} --check CMD")
    return 0

"""`powercut clean`: removes saved runs."""

from __future__ import annotations

import click

from powercut.commands.options import OUTPUT_HELP, saved_runs


@click.command("clean")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", default=0, help="Keep the last N runs (default 0).")
@click.option("--output", metavar="DIR", type=click.Path(file_okay=False), help=OUTPUT_HELP)
def command(keep: int, output: str | None) -> int:
    """Remove saved runs, all or all but the last.

    Runs that are still going on are left. Cached verdicts go with the last run, so that the next one asks the check
    anew. Settings and the baseline lie elsewhere and stay.

    \b
    powercut clean --keep 3
    """
    from powercut.printable import counted, one_line
    from powercut.runs.housekeeping import bytes_text, clean

    folder = saved_runs(output)
    done = clean(folder, keep)
    left = f"; {counted(done.kept, 'run')} kept" if done.kept else ""
    busy = f"; {counted(done.in_use, 'run')} still in use" if done.in_use else ""
    click.echo(one_line(f"Removed {counted(done.removed, 'run')} from {folder}: {bytes_text(done.freed)}{left}{busy}."))
    return 0

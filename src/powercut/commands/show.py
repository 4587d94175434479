"""`powercut show`: findings of saved runs, and the events of a trace, for reading."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("show")
@click.argument("what", metavar="[FINDING | TRACE]", required=False)
@click.option("--output", metavar="DIR", default=".powercut", help="Saved runs (default .powercut).")
@click.option("--diff/--no-diff", default=True, help="Show how the image differs from the folder without a crash.")
def command(what: str | None, output: str, diff: bool) -> int:
    """Explain a finding, list the findings of the last run, or list the events of a trace.

    \b
    powercut show                 the findings of the last run
    powercut show 3f9a            one finding, with its stacks and the image
    powercut show run.trace       every recorded event
    """
    from powercut.report.listing import list_trace
    from powercut.report.text import explain, summary
    from powercut.run.store import find_finding, latest_run, load_run
    from powercut.trace.reader import Trace

    if what is not None and Path(what).is_file():
        for line in list_trace(Trace.open(what)):
            click.echo(line)
        return 0
    if what is None:
        folder = latest_run(Path(output))
        click.echo(summary(load_run(folder), folder))
        return 0
    folder, _, finding = find_finding(Path(output), what)
    click.echo(explain(finding))
    if diff:
        from powercut.report.difference import image_difference

        click.echo(image_difference(Trace.open(folder / "trace"), finding))
    return 0

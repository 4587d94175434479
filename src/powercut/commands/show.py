"""`powercut show`: findings of saved runs, and the events of a trace, for reading."""

from __future__ import annotations

from pathlib import Path

import click

from powercut.commands.names import complete_findings
from powercut.commands.options import saved_runs


@click.command("show")
@click.argument("what", metavar="[FINDING | RUN | TRACE]", required=False, shell_complete=complete_findings)
@click.option("--output", metavar="DIR", help="Saved runs (default .powercut).")
@click.option("--diff/--no-diff", default=True, help="Show how the image differs from the folder without a crash.")
def command(what: str | None, output: str | None, diff: bool) -> int:
    """Explain a finding, or list those of a run, or a trace.

    \b
    powercut show                 the findings of the last run
    powercut show 12              the findings of run 12
    powercut show 3f9a            one finding, with its stacks and the image
    powercut show 12/3f9a         the same, as run 12 found it
    powercut show run.trace       every recorded event
    """
    if what is not None and Path(what).is_file():
        _show_trace(what)
    elif what is None or _is_run(what, saved_runs(output)):
        _show_run(what, saved_runs(output))
    else:
        _show_finding(what, saved_runs(output), diff)
    return 0


def _is_run(name: str, output: Path) -> bool:
    """Whether a number is that of a run; ids of findings can be all digits, too, but are longer."""
    return name.isdecimal() and (output / "runs" / name.zfill(4)).is_dir()


def _show_trace(path: str) -> None:
    from powercut.report.listing import list_trace
    from powercut.trace.reader import Trace

    for line in list_trace(Trace.open(path)):
        click.echo(line)


def _show_run(name: str | None, output: Path) -> None:
    from powercut.report.run import run_text
    from powercut.run.store import find_run, load_run

    folder = find_run(output, name)
    click.echo(run_text(load_run(folder), folder))


def _show_finding(name: str, output: Path, diff: bool) -> None:
    from powercut.report.difference import image_difference
    from powercut.report.lint import explain_misuse
    from powercut.report.text import explain
    from powercut.run.replay import rebuild
    from powercut.run.store import find_finding, find_misuse

    misuse = find_misuse(output, name)
    if misuse is not None:
        click.echo(explain_misuse(misuse))
        return
    folder, _, finding = find_finding(output, name)
    click.echo(explain(finding))
    if diff:
        timeline, _ = rebuild(folder, finding)
        click.echo(image_difference(timeline.trace, finding))

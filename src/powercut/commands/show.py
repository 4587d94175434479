"""`powercut show`: findings of saved runs, and the events of a trace, for reading."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from powercut.commands.names import complete_findings
from powercut.commands.options import saved_runs

_SHORTEST_ID = 4  # of letters that people type: fewer digits are the number of a run, also of one that is not there


@click.command("show")
@click.argument("what", metavar="[FINDING | RUN | TRACE]", required=False, shell_complete=complete_findings)
@click.option("--output", metavar="DIR", help="Saved runs (default .powercut).")
@click.option("--diff/--no-diff", default=True, help="Show what the crash changes in the folder (default: yes).")
@click.option("-v", "--verbose", is_flag=True, help="Of a run, also show tested behaviors and stages.")
def command(what: str | None, output: str | None, diff: bool, verbose: bool) -> int:
    """Explain a finding, or list the findings of a run, or the events of a trace.

    \b
    powercut show                 the findings of the last run
    powercut show 12              the findings of run 12
    powercut show 3f9a            one finding, with the files after the crash
    powercut show 12/3f9a         the same, as run 12 found it
    powercut show run.trace       every recorded event
    """
    if what is not None and Path(what).is_file():
        _show_trace(what)
    elif what is None or _is_run(what, saved_runs(output)) or (what.isdecimal() and len(what) < _SHORTEST_ID):
        _show_run(what, saved_runs(output), verbose=verbose)
    else:
        _show_finding(what, saved_runs(output), diff)
    return 0


def _is_run(name: str, output: Path) -> bool:
    """Whether a name is that of a run, or one that tried a fix; ids of findings can be all digits, but are longer."""
    number = name.isdecimal() and (output / "runs" / name.zfill(4)).is_dir()
    return number or (output / "runs" / name / "run.json").is_file()


def _show_trace(path: str) -> None:
    from powercut.report.listing import list_trace
    from powercut.trace.reader import Trace

    for line in list_trace(Trace.open(path)):
        click.echo(line)


def _show_run(name: str | None, output: Path, *, verbose: bool) -> None:
    from powercut.report.paint import paint_for
    from powercut.report.run_text import run_text
    from powercut.runs.housekeeping import bytes_text, size_of
    from powercut.runs.store import find_run, load_run, numbered_runs

    folder = find_run(output, name)
    click.echo(run_text(load_run(folder), folder, paint_for(sys.stdout), verbose=verbose))
    if (count := len(numbered_runs(output))) > 1:  # beside the text, which is that of the run
        taken = f"one of {count:,} saved runs, {bytes_text(size_of(output))} in all"
        how = "Remove old ones: powercut clean --keep N"
        click.echo(f"powercut: this is {taken} ({bytes_text(size_of(folder))}). {how}", err=True)


def _show_finding(name: str, output: Path, diff: bool) -> None:
    from powercut.findings.sources import Sources, files_of, reading
    from powercut.printable import printable
    from powercut.report.difference import image_difference
    from powercut.report.finding_text import explain
    from powercut.report.lint import explain_misuse
    from powercut.report.paint import Role, paint_for
    from powercut.report.source import changes_told
    from powercut.runs.replay import rebuild
    from powercut.runs.store import find_finding, find_misuse

    found = find_misuse(output, name)
    if found is not None:
        with reading(Sources(found[0])):
            click.echo(explain_misuse(found[1]))
        return
    folder, _, finding = find_finding(output, name)
    paint = paint_for(sys.stdout)
    with reading(Sources(folder)) as kept:
        click.echo(explain(finding, paint))
        changed = [file for file in files_of(finding.locations) if kept.changed(file)]
    if changed:
        click.echo(paint(Role.WARNING, f"  note: {printable(changes_told(changed))}"))
    if diff:
        timeline, _ = rebuild(folder, finding)
        click.echo(image_difference(timeline.trace, finding))

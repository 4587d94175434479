"""`powercut report`: write a saved run in other formats."""

from __future__ import annotations

from typing import Any

import click

from powercut.commands.names import complete_formats, complete_runs
from powercut.commands.options import OUTPUT_HELP, report_options, saved_runs
from powercut.errors import ExitCode

_MOST_NAMED = 3


@click.command("report")
@click.argument("name", metavar="[RUN]", required=False, shell_complete=complete_runs)
@click.option(
    "--format",
    "form",
    metavar="NAME",
    shell_complete=complete_formats,
    help="Write one report: json, sarif, junit, markdown, html or github.",
)
@click.option("-o", "file", metavar="FILE", default="-", help="File for --format (default: standard output).")
@click.option("--schema", is_flag=True, help="Only print the JSON schema of the JSON report.")
@report_options
@click.option("--output", metavar="DIR", help=OUTPUT_HELP)
def command(name: str | None, form: str | None, file: str, schema: bool, output: str | None, **options: Any) -> int:
    """Write a saved run as HTML, SARIF, JUnit and other reports.

    Without RUN, report takes the last run. If one report can't be written, powercut says so and writes the others.
    Paths are relative to the current folder.

    \b
    powercut report --format markdown
    powercut report 12 --format sarif -o powercut.sarif
    powercut report --sarif powercut.sarif --junit powercut.xml --github
    """
    from powercut.commands.outcome import Outputs, do_all, report_actions
    from powercut.findings.sources import Sources, reading
    from powercut.printable import printable
    from powercut.report.json_report import schema as json_schema
    from powercut.report.problems import changed_sources, missing_sources
    from powercut.report.source import changes_told
    from powercut.runs.store import find_run, load_run, to_json

    if schema:
        click.echo(to_json(json_schema()), nl=False)
        return int(ExitCode.NOTHING_FOUND)
    outputs = Outputs.taken_from(options).also(form, file)
    if not outputs.files and not outputs.annotate:
        raise click.UsageError("Choose what to write: --format NAME -o FILE, or --sarif FILE, --junit FILE ...")
    folder = find_run(saved_runs(output), name)
    run = load_run(folder)
    with reading(Sources(folder)):
        missing, changed = missing_sources(run), changed_sources(run)
    if changed:
        click.echo(f"powercut: warning: {printable(changes_told(changed))}", err=True)
    if missing:
        some = ", ".join(missing[:_MOST_NAMED]) + (" and more" if missing[_MOST_NAMED:] else "")
        click.echo(f"powercut: warning: cannot read {printable(some)}: reports do not show these lines", err=True)
    return do_all(report_actions(run, folder, outputs), int(ExitCode.NOTHING_FOUND))

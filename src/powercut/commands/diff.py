"""`powercut diff`: what is new, gone and unchanged between two saved runs."""

from __future__ import annotations

import click

from powercut.commands.names import complete_runs
from powercut.commands.options import OUTPUT_HELP, saved_runs


@click.command("diff")
@click.argument("old", metavar="RUN", shell_complete=complete_runs)
@click.argument("new", metavar="RUN", shell_complete=complete_runs)
@click.option("--json", "json_file", metavar="FILE", help="Write a JSON report; - for standard output.")
@click.option("--output", metavar="DIR", help=OUTPUT_HELP)
def command(old: str, new: str, json_file: str | None, output: str | None) -> int:
    """Compare two saved runs: new, gone and unchanged findings.

    RUN is a number or a folder. Findings are matched by their ids. Exits with 1 if the second run has a finding or a
    lint bug that is neither in the first run nor in the baseline.

    \b
    powercut diff 11 12
    powercut diff cached/.powercut/runs/0007 12
    """
    from powercut.commands.outcome import write_report
    from powercut.errors import ExitCode
    from powercut.printable import printable
    from powercut.report.comparison import compare, comparison_document, comparison_text
    from powercut.runs.store import find_run, load_run

    folder = saved_runs(output)
    comparison = compare(*(load_run(find_run(folder, name)) for name in (old, new)))
    for doubt in comparison.doubts:
        click.echo(f"powercut: warning: {printable(doubt)}", err=True)
    code = int(ExitCode.FINDINGS if comparison.is_worse else ExitCode.NOTHING_FOUND)
    return write_report(comparison_text(comparison), comparison_document(comparison), json_file, code)

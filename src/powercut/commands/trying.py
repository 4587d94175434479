"""`powercut try`: test a fix by running the program with it."""

from __future__ import annotations

from typing import Any

import click

from powercut.commands.names import complete_findings
from powercut.commands.options import JSON_OPTION, OUTPUT_HELP, SCRATCH_HELP, saved_runs


@click.command("try")
@click.argument("name", metavar="FINDING", shell_complete=complete_findings)
@click.option("--run", "run_name", metavar="RUN", help="The run that found it (default: the newest that did).")
@click.option("--check", metavar="CMD", help="Use this check instead of the one of the run.")
@click.option("--budget", metavar="TIME", help="How long to search (default: the budget of the run).")
@click.option("--max-states", type=int, metavar="N", help="Test at most N states (default: as in the run).")
@click.option("--workers", type=int, metavar="N", help="Checks to run in parallel (default: as in the run).")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help=SCRATCH_HELP)
@JSON_OPTION
@click.option("--output", metavar="DIR", help=OUTPUT_HELP)
def command(name: str, run_name: str | None, output: str | None, json_file: str | None, **given: Any) -> int:
    """Try the fix of a finding: run the program again with the sync added.

    The tracer adds the sync at the place that the fix names, each time the program reaches it. The program itself is
    not changed, and runs on a copy of its data folder. Then powercut tests the crash states with the check, the file
    systems and the budget of the run.

    Exits with 0 if the finding is gone, 1 if it is still there, 4 if it was not seen again but the search covered less
    than the first one. Other findings that remain are listed and do not count. The result is saved with the run;
    powercut show prints it.

    \b
    powercut try 3f9a
    powercut try 12/3f9a --budget 5m
    powercut try 3f9a --run 12 --json tried.json
    """
    from powercut.commands.main import INTERRUPTED
    from powercut.commands.outcome import write_report
    from powercut.errors import ExitCode
    from powercut.findings.finding import TriedOutcome
    from powercut.report.terminal import Terminal
    from powercut.report.try_text import trial_document, trial_text
    from powercut.testing.try_fix import try_fix

    changes = {key: value for key, value in given.items() if value is not None}
    with Terminal() as terminal:
        trial = try_fix(saved_runs(output), f"{run_name}/{name}" if run_name else name, terminal.tell, changes)
    codes = {
        TriedOutcome.GONE: int(ExitCode.NOTHING_FOUND),
        TriedOutcome.STILL_THERE: int(ExitCode.FINDINGS),
        TriedOutcome.NOT_SEEN: INTERRUPTED if trial.run.interrupted else int(ExitCode.NOTHING_COVERED),
    }
    return write_report(trial_text(trial), trial_document(trial), json_file, codes[trial.tried.outcome])

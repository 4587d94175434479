"""`powercut replay`: rebuild a failing image and run the check on it again."""

from __future__ import annotations

from pathlib import Path

import click

from powercut.commands.names import complete_findings
from powercut.commands.options import saved_runs


@click.command("replay")
@click.argument("name", metavar="FINDING", shell_complete=complete_findings)
@click.option("--output", metavar="DIR", help="Saved runs (default .powercut).")
@click.option("--image", metavar="DIR", type=click.Path(), help="Also leave the image in this new folder.")
@click.option("--check", metavar="CMD", help="Another check than that of the run.")
def command(name: str, output: str | None, image: str | None, check: str | None) -> int:
    """Rebuild the image of a finding, and ask the check again.

    Exits with 1 if the check refuses the image as it did before, 0 if it passes now (a fixed recovery), 3 if it cannot
    be run.

    \b
    powercut replay 3f9a
    powercut replay 12/3f9a --image /tmp/crashed
    """
    from powercut.errors import ExitCode
    from powercut.oracle.verdict import Outcome
    from powercut.report.terminal import Terminal
    from powercut.report.text import explain_verdict
    from powercut.run.replay import replay

    with Terminal() as terminal:
        verdict = replay(saved_runs(output), name, Path(image) if image else None, check, terminal.tell)
    click.echo(explain_verdict(verdict))
    if verdict.outcome is Outcome.ERROR:
        return int(ExitCode.FAILED)
    return int(ExitCode.NOTHING_FOUND if verdict.passed else ExitCode.FINDINGS)

"""`powercut replay`: rebuild a failing crash image and run the check on it again."""

from __future__ import annotations

from pathlib import Path

import click

from powercut.commands.names import complete_findings
from powercut.commands.options import OUTPUT_HELP, saved_runs


@click.command("replay")
@click.argument("name", metavar="FINDING", shell_complete=complete_findings)
@click.option("--output", metavar="DIR", help=OUTPUT_HELP)
@click.option("--image", metavar="DIR", type=click.Path(), help="Also write the image to this new folder.")
@click.option("--check", metavar="CMD", help="Use this check instead of the one of the run.")
@click.option("--tries", type=click.IntRange(1, 1000), default=5, metavar="N", help="Executions of a race (default 5).")
def command(name: str, output: str | None, image: str | None, check: str | None, tries: int) -> int:
    """Rebuild a finding's image and run the check on it (for a race: run the program again).

    Exits with 1 if the check fails again or the race is seen again, 0 if not, 3 if the check cannot be run. The image
    is the saved one: after a fix in the program, use powercut test.

    \b
    powercut replay 3f9a
    powercut replay 12/3f9a --image /tmp/crashed
    powercut replay 12/9b1c --tries 10
    """
    from powercut.errors import ExitCode
    from powercut.findings.finding import Finding
    from powercut.runs.store import find_replayable

    _, _, finding = find_replayable(saved_runs(output), name)
    if isinstance(finding, Finding) and finding.race is not None:
        return _replay_race(saved_runs(output), name, Path(image) if image else None, tries)
    from powercut.oracle.verdict import Outcome
    from powercut.report.finding_text import explain_verdict
    from powercut.report.terminal import Terminal
    from powercut.runs.replay import replay

    with Terminal() as terminal:
        verdict = replay(saved_runs(output), name, Path(image) if image else None, check, terminal.tell)
    click.echo(explain_verdict(verdict))
    if verdict.outcome is Outcome.ERROR:
        return int(ExitCode.FAILED)
    return int(ExitCode.NOTHING_FOUND if verdict.passed else ExitCode.FINDINGS)


def _replay_race(output: Path, name: str, image: Path | None, tries: int) -> int:
    """Execute the program with the saved input and schedule."""
    from powercut import _engine
    from powercut.errors import ExitCode
    from powercut.race.race_replay import replay_race
    from powercut.report.terminal import Terminal
    from powercut.runs.replay import export_image, rebuild
    from powercut.runs.store import find_finding

    folder, run, finding = find_finding(output, name)
    assert finding.race is not None
    if image is not None:
        export_image(*rebuild(folder, finding), image)
    views, _ = _engine.can_enter_view()
    with Terminal() as terminal:
        replayed = replay_race(folder, run, finding, finding.race, tries, terminal.tell, views=views)
    click.echo(f"The race was seen again in {replayed.seen} of {replayed.tries} executions.")
    return int(ExitCode.FINDINGS if replayed.seen else ExitCode.NOTHING_FOUND)

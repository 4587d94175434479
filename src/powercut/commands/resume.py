"""`powercut resume`: continue a run that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from powercut.commands.grouped_help import GroupedCommand
from powercut.commands.names import complete_runs
from powercut.commands.options import OUTPUT_HELP, report_options, saved_runs

if TYPE_CHECKING:
    from powercut.runs.run_plan import Plan
    from powercut.settings import Settings


@click.command("resume", cls=GroupedCommand)
@click.argument("name", metavar="[RUN]", required=False, shell_complete=complete_runs)
@click.option("--budget", metavar="TIME", help="How much longer to search (default: the budget of the run).")
@click.option("--max-states", type=int, metavar="N", help="Test at most N states, including those tested before.")
@click.option("--workers", type=int, metavar="N", help="Checks to run in parallel (default: as before).")
@click.option("--executor", metavar="NAME", help="Where checks run: local or ray (default: as before).")
@click.option("--ray-address", metavar="ADDRESS", help="The Ray cluster.")
@report_options
@click.option("--output", metavar="DIR", help=OUTPUT_HELP)
def command(name: str | None, output: str | None, **given: Any) -> int:
    """Continue a run that was stopped.

    The run may have been stopped by Ctrl-C, its budget, a kill or a power cut. resume does not run the program again:
    it continues to search the trace of the run, and skips states that have a verdict. Without RUN, it continues the
    last run.

    \b
    powercut resume
    powercut resume 12 --budget 1h
    """
    from powercut.commands.outcome import Outputs, report_run
    from powercut.errors import UsageError
    from powercut.report.terminal import Terminal
    from powercut.runs.run_plan import find_plan, load_plan
    from powercut.testing.session import Session
    from powercut.trace.reader import Trace

    outputs = Outputs.taken_from(given)
    folder = find_plan(saved_runs(output), name)
    plan = load_plan(folder)
    if plan.function is not None:
        raise UsageError(
            "python-check",
            f"the check was the Python function {plan.function}, which resume cannot call.",
            f"Use a command instead: powercut explore {folder / 'trace'} --check CMD.",
        )
    settings = _settings(plan, folder, given)
    trace = Trace.open(folder / "trace")
    with Terminal() as terminal:
        session = Session(settings, Path(plan.cwd), terminal.tell, notes=plan.notes, resumed=True)
        run, folder = session.explore(trace, folder)
    return report_run(run, folder, outputs)


def _settings(plan: Plan, folder: Path, given: dict[str, Any]) -> Settings:
    """The settings of the plan, with what is said now; runs are where this one is."""
    import msgspec

    from powercut.settings import check_settings

    changes: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    output = folder.resolve().parent.parent
    if (Path(plan.cwd) / plan.settings.output).resolve() != output:
        changes["output"] = str(output)
    settings = msgspec.structs.replace(plan.settings, **changes)
    check_settings(settings, "bad-setting", "")
    return settings

"""`powercut syncs`: find out which syncs of a program are needed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from powercut.commands.grouped_help import GroupedCommand
from powercut.commands.options import (
    JSON_OPTION,
    common_options,
    judge_options,
    optional_workload,
    record_options,
    settings_from,
)

if TYPE_CHECKING:
    from powercut.syncs.sync_verdict import SyncsRun


@click.command("syncs", cls=GroupedCommand)
@click.option(
    "--trace",
    "trace_file",
    metavar="TRACE",
    type=click.Path(dir_okay=False),
    help="Use this trace instead of running a program.",
)
@record_options
@judge_options
@JSON_OPTION
@common_options
@optional_workload
def command(workload: tuple[str, ...], trace_file: str | None, json_file: str | None, **options: Any) -> int:
    """Find out which syncs, flushes and fences a program needs.

    The program runs once, as with powercut test. Then powercut removes each sync in the model, and runs the check on
    the crash states that this makes possible. A sync is needed if one of them fails, redundant if nothing is lost
    without it, and otherwise not covered by the check.

    Exits with 1 if crash states fail with every sync in place, 4 if the budget ended before anything was tested, 130
    if it was interrupted, and otherwise with 0. The HTML report of a saved run contains the table, too.

    \b
    powercut syncs --dir data --check ./verify.sh -- ./server --once
    powercut syncs --trace run.trace --check ./verify.sh --fs xfs,btrfs --json syncs.json
    powercut syncs --trace .powercut/runs/0012/trace --check ./verify.sh && powercut report 12 --html report.html
    """
    from powercut.commands.outcome import do_all, write_report
    from powercut.report.syncs import syncs_document, syncs_text
    from powercut.report.terminal import Terminal
    from powercut.runs.workspace import Workspace
    from powercut.syncs.session import weigh_syncs
    from powercut.trace.reader import Trace

    if bool(workload) == bool(trace_file):
        raise click.UsageError("Give either a program to run or a trace with --trace.")
    settings, cwd = settings_from(options)
    with Terminal() as terminal:
        workspace = Workspace(settings, cwd, terminal.tell)
        trace = Trace.open(trace_file) if trace_file else workspace.record_run(workload)[0]
        run = weigh_syncs(workspace, trace)
    table = syncs_document(run)
    kept = partial(keep_table, table, Path(trace.name), ours=not trace_file)
    return do_all([kept], write_report(syncs_text(run, trace.name), table, json_file, exit_code(run)))


def keep_table(table: dict[str, Any], trace: Path, *, ours: bool) -> None:
    """Leave the table beside the trace, for reports of that run; not in a folder that is nobody's run."""
    from powercut.runs.store import SYNCS, is_run, to_json, write_durably

    if ours or (trace.name == "trace" and is_run(trace.parent)):
        write_durably(trace.parent / SYNCS, to_json(table))


def exit_code(run: SyncsRun) -> int:
    """How the command ends for the shell."""
    from powercut.commands.main import INTERRUPTED
    from powercut.errors import ExitCode

    if run.broken:
        return int(ExitCode.FINDINGS)
    if run.interrupted:
        return INTERRUPTED
    return int(ExitCode.NOTHING_COVERED if run.unfinished and not run.tested else ExitCode.NOTHING_FOUND)

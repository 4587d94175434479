"""`powercut explore`: test the crash states of a recorded trace."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from powercut.commands.grouped_help import GroupedCommand
from powercut.commands.options import baseline_options, common_options, explore_options, report_options, settings_from


@click.command("explore", cls=GroupedCommand)
@click.argument("trace_file", metavar="TRACE", type=click.Path(dir_okay=False))
@explore_options
@baseline_options
@report_options
@common_options
def command(trace_file: str, write_baseline: bool, **options: Any) -> int:
    """Test the crash states of a recorded trace.

    If TRACE was written by powercut check --save, explore checks its assertions under the model of --memory instead.

    \b
    powercut explore run.trace --check ./verify.sh --fs xfs,btrfs
    powercut explore store.pct --memory hops
    """
    from powercut.assertions.checker import is_check_trace
    from powercut.commands.outcome import Outputs, report_run

    outputs = Outputs.taken_from(options)
    if is_check_trace(Path(trace_file)):
        return _check_again(trace_file, outputs.only_json(), write_baseline, options)

    from powercut.findings.sources import Sources
    from powercut.report.terminal import Terminal
    from powercut.runs.store import new_run_folder
    from powercut.testing.session import Session
    from powercut.trace.reader import Trace

    settings, cwd = settings_from(options)
    trace = Trace.open(trace_file)
    with Terminal() as terminal:
        session = Session(settings, cwd, terminal.tell, write_baseline=write_baseline)
        folder = new_run_folder(session.output)
        _keep_trace(trace_file, folder)
        Sources(folder).adopt(Sources(Path(trace_file).parent))
        run, folder = session.explore(trace, folder)
    return report_run(run, folder, outputs)


def _check_again(trace_file: str, json_file: str | None, write_baseline: bool, options: dict[str, Any]) -> int:
    """There are no crash states in such a trace, but what it asserts can be asked of every memory."""
    from powercut.assertions.checker import model_of_memory
    from powercut.commands.check import check_again

    model = model_of_memory(options.pop("memory"))
    settings, cwd = settings_from(options)
    return check_again(trace_file, model, cwd / settings.baseline, json_file, write_baseline=write_baseline)


def _keep_trace(trace_file: str, folder: Path) -> None:
    """Copy the trace to the run, so that its findings replay whatever becomes of the file."""
    from powercut.errors import EnvironmentFailure

    try:
        shutil.copyfile(trace_file, folder / "trace")
    except OSError as error:
        shutil.rmtree(folder)
        raise EnvironmentFailure(
            "output-unwritable",
            f"cannot copy the trace to {folder}: {error.strerror}.",
            "Choose another folder with --output DIR.",
        ) from error

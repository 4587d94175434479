"""`powercut test`: record, explore, test, explain."""

from __future__ import annotations

from typing import Any

import click

from powercut.commands.grouped_help import GroupedCommand
from powercut.commands.options import (
    baseline_options,
    common_options,
    explore_options,
    record_options,
    report_options,
    settings_from,
    workload_argument,
)


@click.command("test", cls=GroupedCommand)
@record_options
@explore_options
@baseline_options
@report_options
@common_options
@click.option("-v", "--verbose", is_flag=True, help="Also show tested behaviors, and the time of each stage.")
@workload_argument
def command(workload: tuple[str, ...], write_baseline: bool, verbose: bool, **options: Any) -> int:
    """Test all states a power cut can leave.

    The program runs once, on a private copy of its data folder. Then the check runs on each crash state. POWERCUT_DIR
    names the crashed folder, POWERCUT_ACKED a file with what the program had printed before the crash, and
    POWERCUT_SENT a file with what it had sent over sockets. The built-in check, used without --check, requires that
    every replaced or rewritten file is old or new, and that nothing synced is lost.

    \b
    powercut test -- python3 save_settings.py
    powercut test --dir data --check ./verify.sh -- ./server --once
    powercut test --fs all --budget 5m --json report.json --check 'python3 check.py' -- ./kv put a 1
    """
    from powercut.commands.outcome import Outputs, report_run
    from powercut.report.terminal import Terminal
    from powercut.testing.session import Session

    outputs = Outputs.taken_from(options)
    settings, cwd = settings_from(options)
    with Terminal() as terminal:
        run, folder = Session(settings, cwd, terminal.tell, write_baseline=write_baseline).test(workload)
    return report_run(run, folder, outputs, verbose=verbose)

"""`powercut test`: record, explore, judge, explain."""

from __future__ import annotations

from typing import Any

import click

from powercut.commands.options import (
    baseline_options,
    common_options,
    explore_options,
    record_options,
    report_options,
    settings_from,
    workload_argument,
)


@click.command("test")
@record_options
@explore_options
@baseline_options
@report_options
@common_options
@workload_argument
def command(workload: tuple[str, ...], write_baseline: bool, **options: Any) -> int:
    """Crash-test a program: judge all states a power cut can leave.

    The program runs once, on a private copy of its data folder. Each crash state is shown to the check as that folder:
    POWERCUT_DIR names it, POWERCUT_ACKED is a file with what the program had printed before the crash, and
    POWERCUT_SENT one with what it had sent over sockets. Without a check, every replaced or rewritten file must be old
    or new, and nothing synced may be lost.

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
    return report_run(run, folder, outputs)

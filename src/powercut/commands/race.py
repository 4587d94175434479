"""`powercut race`: find races of threads in persistent memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from powercut.commands.grouped_help import GroupedCommand
from powercut.commands.options import (
    TIME,
    baseline_options,
    common_options,
    race_options,
    report_options,
    settings_from,
    workload_argument,
)


@click.command("race", cls=GroupedCommand)
@click.option("--seeds", metavar="DIR", type=click.Path(file_okay=False), help="Folder of input files for the program.")
@click.option("--grammar", metavar="FILE", type=click.Path(dir_okay=False), help="Grammar of its commands (TOML).")
@click.option("--recovery", metavar="CMD", help="Command for crash images (default: the program, with empty input).")
@click.option("--client", metavar="CMD", help="The program is a server: run CMD against it, then end the server.")
@click.option(
    "--schedule",
    type=click.Choice(["pm", "random", "none"]),
    default="pm",
    help="pm (default): loads wait for stores; random: random delays; none: threads run freely.",
)
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Executions in parallel (default: one per core).")
@click.option("--threads", type=click.IntRange(2, 64), metavar="N", help="Threads of the program, for the grammar.")
@click.option("--max-findings", type=click.IntRange(1), metavar="N", help="Stop after N races.")
@click.option("--max-executions", type=click.IntRange(1), metavar="N", help="Run the program at most N times.")
@click.option(
    "--timeout", type=TIME, metavar="TIME", help="An execution that takes longer counts as hung (default 10)."
)
@race_options
@baseline_options
@report_options
@common_options
@workload_argument
def command(
    workload: tuple[str, ...],
    seeds: str | None,
    grammar: str | None,
    recovery: str | None,
    client: str | None,
    schedule: Any,
    jobs: int | None,
    threads: int | None,
    max_findings: int | None,
    max_executions: int | None,
    write_baseline: bool,
    **options: Any,
) -> int:
    """Find threads that read data before it is durable and persist something based on it.

    race runs the program many times under the memory tracer, each time with another thread schedule, and with other
    input if there are --seeds or a --grammar. If the program persists something based on data that a power cut can
    still lose, race builds that crash image and runs the recovery on it. What the recovery does not repair is a
    finding.

    \b
    powercut race --dir pool -- ./store pool/data
    powercut race --dir pool --grammar store.toml --budget 10m -- ./store pool/data
    powercut race --dir pool --client './load {port}' --recovery './cache -r data' -- ./cache -p {port} pool/data
    powercut race --dir pool --recovery './store recover data' --check './store verify data' -- ./store fill pool/data
    """
    from powercut.commands.outcome import Outputs, report_run
    from powercut.race.session import RaceOptions, RaceSession
    from powercut.report.terminal import Terminal
    from powercut.runs.workspace import Workspace

    if threads is not None and grammar is None:
        raise click.UsageError("--threads works only with --grammar.")
    if client is not None and recovery is None:
        raise click.UsageError("--client needs --recovery: a server does not end by itself.")
    outputs = Outputs.taken_from(options)
    settings, cwd = settings_from(options)
    folder_of_seeds, file = (Path(name) if name is not None else None for name in (seeds, grammar))
    with Terminal() as terminal:
        workspace = Workspace(settings, cwd, terminal.tell, write_baseline=write_baseline)
        race = RaceOptions(
            folder_of_seeds, file, recovery, schedule, jobs or 0, threads, max_findings, max_executions, client
        )
        run, folder = RaceSession(workspace, race).run(workload)
    return report_run(run, folder, outputs)

"""`powercut guard`: run a service and log what it makes durable."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from powercut.commands.options import DEFAULT_LOG, LOG_OPTION, seconds_option
from powercut.errors import ExitCode

_RESTARTS = click.IntRange(0)
_ITS_OWN = {"allow_interspersed_args": False}  # what follows the service is meant for it, also without --


@click.command("guard", context_settings=_ITS_OWN)
@LOG_OPTION
@click.option("--pool", "pools", multiple=True, metavar="FILE", help="Also guard this file when it is mapped.")
@click.option("--restarts", type=_RESTARTS, metavar="N", default=2, show_default=True, help="Restarts after failures.")
@click.option("--check", metavar="CMD", help="Command that exits with 0 while the service works.")
@seconds_option("--every", 10.0, "Time between two checks.")
@seconds_option("--timeout", 10.0, "A check that takes longer counts as hung.")
@click.option(
    "--versions",
    type=click.IntRange(1, 250),
    default=3,
    metavar="N",
    show_default=True,
    help="Versions to keep of each byte.",
)
@click.argument("service", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- SERVICE [ARG]...")
def command(
    service: tuple[str, ...],
    log: str,
    pools: tuple[str, ...],
    restarts: int,
    check: str | None,
    every: float,
    timeout: float,
    versions: int,
) -> int:
    """Run a service on persistent memory and log what it makes durable.

    guard logs every range that the service makes durable through PMDK or msync, with the line that did it. If the
    service fails, guard restarts it. If it fails again in the same way, the cause is in its pool: powercut heal can
    then undo the updates that led to it, from the log.

    Exits with 0 if the service ended successfully, 1 if it failed again in the same way, 3 if it failed otherwise.

    \b
    powercut guard -- ./server --pool /mnt/pmem/cache.pool
    powercut guard --check './ping --port 11211' --every 5 -- ./server
    """
    from powercut.guard.supervise import Supervisor, Watch
    from powercut.oracle.check_command import check_command
    from powercut.programs import find_program

    def say(text: str) -> None:
        click.echo(f"powercut: {text}", err=True)

    here = Path.cwd()
    asked = check_command(check, here, here) if check is not None else ()
    watch = Watch(tuple(asked), every, timeout)
    argv = [find_program(service[0], here), *service[1:]]
    supervisor = Supervisor(argv, Path(log), [Path(pool) for pool in pools], watch, say, versions)
    ending, came_back = supervisor.run(restarts)
    if came_back:
        say(f"the service failed again in the same way: this looks like a hard fault. {_next_step(log)} [hard-fault]")
        return int(ExitCode.FINDINGS)
    return int(ExitCode.NOTHING_FOUND if ending.is_good else ExitCode.FAILED)


def _next_step(log: str) -> str:
    """What to do about a service that no restart helps."""
    if not any(Path(log).glob("*.segment")):
        return "But no pool was logged, so the cause is not in a pool."
    named = "" if log == DEFAULT_LOG else f"--log {shlex.quote(log)} "
    return (
        f"To see which updates of the pool led to it, run: powercut heal --plan {named}-- COMMAND, where COMMAND "
        "restarts the service and exits with 0 if it works."
    )

"""`powercut guard`: run a service, and keep a checkpoint log of what it makes durable."""

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
@click.option("--pool", "pools", multiple=True, metavar="FILE", help="Guard this file, too, when it is mapped.")
@click.option("--restarts", type=_RESTARTS, metavar="N", default=2, show_default=True, help="Starts after bad endings.")
@click.option("--check", metavar="CMD", help="Command that exits with 0 while the service is well.")
@seconds_option("--every", 10.0, "Between two checks.")
@seconds_option("--timeout", 10.0, "When a check has hung.")
@click.option(
    "--versions", type=click.IntRange(1, 250), default=3, metavar="N", show_default=True, help="Kept of each byte."
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
    """Run a service on persistent memory, and log what it makes durable.

    Every range that the service makes durable through PMDK or msync goes into a checkpoint log, with the line that did
    it. If the service fails, it is started again; if it fails in the same way again, what is wrong lies in its pool,
    and the log is what it can be healed from.

    Exits with 0 if the service ended well, 1 if it failed again in the same way, 3 if it failed otherwise.

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
        say(f"it failed in the same way before: this looks like a hard fault. {_next_step(log)} [hard-fault]")
        return int(ExitCode.FINDINGS)
    return int(ExitCode.NOTHING_FOUND if ending.is_good else ExitCode.FAILED)


def _next_step(log: str) -> str:
    """What to do about a service that no restart helps."""
    if not any(Path(log).glob("*.segment")):
        return "But no pool was logged: what is wrong lies elsewhere."
    named = "" if log == DEFAULT_LOG else f"--log {shlex.quote(log)} "
    return (
        f"powercut heal --plan {named}-- COMMAND tells what in the pool led to it, where COMMAND restarts the service "
        "and exits with 0 if it is well."
    )

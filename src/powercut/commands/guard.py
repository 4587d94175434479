"""`powercut guard`: run a service, and keep a checkpoint log of what it makes durable."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from powercut.errors import ExitCode


@click.command("guard")
@click.option("--log", metavar="DIR", type=click.Path(file_okay=False), default=".powercut/guard", show_default=True)
@click.option("--pool", "pools", multiple=True, metavar="FILE", help="Guard this file, too, when it is mapped.")
@click.option("--restarts", type=int, default=1, show_default=True, help="How often to start it again when it fails.")
@click.option("--check", metavar="CMD", help="Command that exits with 0 while the service is well.")
@click.option("--every", type=float, default=10.0, metavar="SECONDS", show_default=True, help="Between two checks.")
@click.option("--timeout", type=float, default=10.0, metavar="SECONDS", show_default=True, help="A check has hung.")
@click.argument("service", nargs=-1, type=click.UNPROCESSED, required=True)
def command(
    service: tuple[str, ...],
    log: str,
    pools: tuple[str, ...],
    restarts: int,
    check: str | None,
    every: float,
    timeout: float,
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

    def say(text: str) -> None:
        click.echo(f"powercut: {text}", err=True)

    watch = Watch(tuple(shlex.split(check or "")), every, timeout)
    ending, came_back = Supervisor(service, Path(log), [Path(pool) for pool in pools], watch, say).run(restarts)
    if came_back:
        say(f"it failed in the same way before: this looks like a hard fault. Its log is in {log} [hard-fault]")
        return int(ExitCode.FINDINGS)
    return int(ExitCode.NOTHING_FOUND if ending.is_good else ExitCode.FAILED)

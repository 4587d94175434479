"""`powercut heal`: take back the updates that make a service fail again and again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from powercut.errors import ExitCode

if TYPE_CHECKING:
    from powercut.heal.session import Session


@click.command("heal")
@click.option("--log", metavar="DIR", type=click.Path(file_okay=False), default=".powercut/guard", show_default=True)
@click.option("--pool", metavar="FILE", type=click.Path(dir_okay=False), help="Which pool, if the log has several.")
@click.option("--mode", type=click.Choice(("purge", "rollback", "auto")), default="auto", show_default=True)
@click.option("--timeout", type=float, default=30.0, metavar="SECONDS", show_default=True, help="A restart has hung.")
@click.option("--plan", "only_plan", is_flag=True, help="Only tell what would be taken back; try nothing.")
@click.option("--leaks", is_flag=True, help="Free objects that nobody can reach; take nothing back.")
@click.option("--yes", is_flag=True, help="Change the pool without asking.")
@click.option("--undo", metavar="FILE", type=click.Path(dir_okay=False), help="Put back what a healing changed.")
@click.argument("restart", nargs=-1, type=click.UNPROCESSED)
def command(
    restart: tuple[str, ...],
    log: str,
    pool: str | None,
    mode: str,
    timeout: float,
    only_plan: bool,
    leaks: bool,
    yes: bool,
    undo: str | None,
) -> int:
    """Heal a pool from the checkpoint log of its service.

    After -- stands a command that restarts the service and exits with 0 if it is well. It runs on copies of the pool's
    folder, shown in its place: once under taint, which tells what in the pool led to the fault, then with more and more
    of those updates taken back. When that helps, you are asked; then the pool is changed. What it held is kept.

    Exits with 0 if the pool was healed (with --plan: if there is a plan), 1 if no way was found or you said no.

    \b
    powercut heal --plan -- ./restart-and-ping.sh
    powercut heal -- ./restart-and-ping.sh
    powercut heal --leaks -- ./restart-and-ping.sh
    powercut heal --undo .powercut/guard/heal-1.json
    """
    from powercut.heal.changes import nobody_writes
    from powercut.heal.changes import undo as undo_healing
    from powercut.heal.healer import MODES
    from powercut.heal.session import Restart, Session

    if bool(restart) == bool(undo):
        raise click.UsageError("Give a command that restarts the service, or --undo: one of them.")
    if undo:
        with nobody_writes(Path(undo).parent):
            _say(f"{undo_healing(Path(undo))} holds what it held before it was healed")
            return int(ExitCode.NOTHING_FOUND)
    with nobody_writes(Path(log)):
        modes = MODES if mode == "auto" else (mode,)
        chosen = Path(pool) if pool else None
        session = Session(Path(log), chosen, Restart(restart, Path.cwd(), timeout), _say, modes)
        if leaks:
            return _free(session, only_plan=only_plan, yes=yes)
        return _heal(session, only_plan=only_plan, yes=yes)


def _heal(session: Session, *, only_plan: bool, yes: bool) -> int:
    from powercut.heal.plan import discarded
    from powercut.report.heal import plan_text

    plan, first = session.plan()
    click.echo(plan_text(session, plan, first), nl=False)
    if only_plan or not plan.steps:
        return int(ExitCode.NOTHING_FOUND if plan.steps else ExitCode.FINDINGS)
    healing = session.heal(plan)
    if healing is None:
        _say("nothing of the plan helps: the pool is as it was [heal-failed]")
        return int(ExitCode.FINDINGS)
    updates, size = discarded(session.history, healing.records)
    share = 100 * updates / max(1, plan.updates)
    click.echo(
        f"healed by {healing.mode} after {healing.attempts} attempts, {healing.seconds:.1f} s: without {updates} of "
        f"{plan.updates} updates ({share:.2g} %, {size} bytes) the service is well"
    )
    if not yes and not click.confirm(f"Take them back in {session.history.pool.path}?", default=False):
        _say("the pool is as it was")
        return int(ExitCode.FINDINGS)
    way_back = session.change(healing)
    click.echo(f"{session.history.pool.path} is healed. To undo it: powercut heal --undo {way_back}")
    return int(ExitCode.NOTHING_FOUND)


def _free(session: Session, *, only_plan: bool, yes: bool) -> int:
    from powercut.report.heal import leaks_text

    leaks = session.leaks()
    click.echo(leaks_text(session, leaks), nl=False)
    if only_plan or not leaks:
        return int(ExitCode.NOTHING_FOUND if leaks else ExitCode.FINDINGS)
    attempt, changes = session.free(leaks)
    click.echo(f"without them the service {attempt}")
    if not attempt.healed:
        _say("freeing them does not help: the pool is as it was [heal-failed]")
        return int(ExitCode.FINDINGS)
    if not yes and not click.confirm(f"Free them in {session.history.pool.path}?", default=False):
        _say("the pool is as it was")
        return int(ExitCode.FINDINGS)
    click.echo(f"they are freed. To undo it: powercut heal --undo {session.write(changes)}")
    return int(ExitCode.NOTHING_FOUND)


def _say(text: str) -> None:
    click.echo(f"powercut: {text}", err=True)

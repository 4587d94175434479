"""`powercut heal`: take back the updates that make a service fail again and again."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from powercut.commands.options import HTML_OPTION, JSON_OPTION
from powercut.errors import ExitCode

if TYPE_CHECKING:
    from powercut.commands.outcome import Outputs
    from powercut.heal.plan import Plan
    from powercut.heal.session import Session
    from powercut.heal.workshop import Attempt
    from powercut.report.heal_document import Result


@click.command("heal")
@click.option("--log", metavar="DIR", type=click.Path(file_okay=False), default=".powercut/guard", show_default=True)
@click.option("--pool", metavar="FILE", type=click.Path(dir_okay=False), help="Which pool, if the log has several.")
@click.option("--mode", type=click.Choice(("purge", "rollback", "auto")), default="auto", show_default=True)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    show_default=True,
    help="Take back N steps at once: fewer attempts, more is lost.",
)
@click.option(
    "--bitcode",
    metavar="FILE",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="The service's LLVM bitcode, for a better order of the plan; may be repeated.",
)
@click.option("--timeout", type=float, default=30.0, metavar="SECONDS", show_default=True, help="A restart has hung.")
@click.option("--plan", "only_plan", is_flag=True, help="Only tell what would be taken back; try nothing.")
@click.option("--leaks", is_flag=True, help="Free objects that nobody can reach; take nothing back.")
@click.option("--untouched", is_flag=True, help="With --leaks: all that the restart does not touch.")
@click.option("--yes", is_flag=True, help="Change the pool without asking.")
@click.option("--undo", metavar="FILE", type=click.Path(dir_okay=False), help="Put back what a healing changed.")
@JSON_OPTION
@HTML_OPTION
@click.argument("restart", nargs=-1, type=click.UNPROCESSED)
def command(
    restart: tuple[str, ...],
    log: str,
    pool: str | None,
    mode: str,
    batch: int,
    bitcode: tuple[str, ...],
    timeout: float,
    only_plan: bool,
    leaks: bool,
    untouched: bool,
    yes: bool,
    undo: str | None,
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Heal a pool from the checkpoint log of its service.

    After -- stands a command that restarts the service and exits with 0 if it is well. It runs on copies of the pool's
    folder, shown in its place: once under taint, which tells what in the pool led to the fault, then with more and more
    of those updates taken back. When that helps, you are asked; then the pool is changed. What it held is kept.

    Exits with 0 if the pool was healed (with --plan: if there is a plan), 1 if no way was found or you said no.

    \b
    powercut heal --plan -- ./restart-and-ping.sh
    powercut heal -- ./restart-and-ping.sh
    powercut heal --plan --html plan.html -- ./restart-and-ping.sh
    powercut heal --leaks -- ./restart-and-ping.sh
    powercut heal --undo .powercut/guard/heal-1.json
    """
    from powercut.commands.outcome import Outputs
    from powercut.heal.changes import nobody_writes
    from powercut.heal.changes import undo as undo_healing
    from powercut.heal.healer import MODES
    from powercut.heal.session import Restart, Session

    if bool(restart) == bool(undo):
        raise click.UsageError("Give a command that restarts the service, or --undo: one of them.")
    if (json_file or html_file) and (undo or leaks):
        raise click.UsageError("--json and --html tell of a plan: --leaks and --undo have none.")
    if untouched and not leaks:
        raise click.UsageError("--untouched says which objects --leaks frees: give both.")
    if undo:
        with nobody_writes(Path(undo).parent):
            _say(f"{undo_healing(Path(undo))} holds what it held before it was healed")
            return int(ExitCode.NOTHING_FOUND)
    outputs = Outputs(tuple((name, file) for name, file in (("json", json_file), ("html", html_file)) if file))
    with nobody_writes(Path(log)):
        modes = MODES if mode == "auto" else (mode,)
        chosen = Path(pool) if pool else None
        restarts, code = Restart(restart, Path.cwd(), timeout), [Path(file) for file in bitcode]
        session = Session(Path(log), chosen, restarts, _say, modes, batch=batch, bitcode=code)
        if leaks:
            return _free(session, untouched=untouched, only_plan=only_plan, yes=yes)
        plan, first = session.plan()
        return _heal(session, plan, first, outputs, only_plan=only_plan, yes=yes)


def _heal(session: Session, plan: Plan, first: Attempt, outputs: Outputs, *, only_plan: bool, yes: bool) -> int:
    """Tell the plan, try it, and write the reports, whatever came of it."""
    from powercut.commands.outcome import do_all, write
    from powercut.report.heal import plan_text
    from powercut.report.heal_document import HealOutcome, Result, heal_document
    from powercut.report.html.heal import render
    from powercut.run.store import to_json

    click.echo(plan_text(session, plan, first), nl=False, err=outputs.in_pipe)
    if only_plan or not plan.steps:
        result = Result(HealOutcome.PLANNED if plan.steps else HealOutcome.EMPTY)
    else:
        result = _try(session, plan, in_pipe=outputs.in_pipe, yes=yes)
    forms = {"json": to_json, "html": render}

    def written(name: str, file: str) -> None:
        write(lambda: forms[name](heal_document(session, plan, first, result)), file)

    well = result.outcome in (HealOutcome.PLANNED, HealOutcome.HEALED)
    actions = [partial(written, name, file) for name, file in outputs.files]
    return do_all(actions, int(ExitCode.NOTHING_FOUND if well else ExitCode.FINDINGS))


def _try(session: Session, plan: Plan, *, in_pipe: bool, yes: bool) -> Result:
    from powercut.heal.plan import discarded
    from powercut.report.heal_document import HealOutcome, Result

    healing, pool = session.heal(plan), session.history.pool.path
    if healing is None:
        _say("nothing of the plan helps: the pool is as it was [heal-failed]")
        return Result(HealOutcome.FAILED)
    updates, size = discarded(session.history, healing.records)
    share = 100 * updates / max(1, plan.updates)
    click.echo(
        f"healed by {healing.mode} after {healing.attempts} attempts, {healing.seconds:.1f} s: without {updates} of "
        f"{plan.updates} updates ({share:.2g} %, {size} bytes) the service is well",
        err=in_pipe,
    )
    if not yes and not _agreed(f"Take them back in {pool}?", err=in_pipe):
        _say("the pool is as it was")
        return Result(HealOutcome.DECLINED, healing)
    way_back = session.change(healing)
    click.echo(f"{pool} is healed. To undo it: powercut heal --undo {way_back}", err=in_pipe)
    return Result(HealOutcome.HEALED, healing, way_back)


def _free(session: Session, *, untouched: bool, only_plan: bool, yes: bool) -> int:
    from powercut.heal.leaks import Rule
    from powercut.report.heal import leaks_text

    leaks = session.leaks(Rule.TOUCHES if untouched else Rule.PATHS)
    click.echo(leaks_text(session, leaks), nl=False)
    if only_plan or not leaks:
        return int(ExitCode.NOTHING_FOUND if leaks else ExitCode.FINDINGS)
    attempt, changes = session.free(leaks)
    click.echo(f"without them the service {attempt}")
    if not attempt.healed:
        _say("freeing them does not help: the pool is as it was [heal-failed]")
        return int(ExitCode.FINDINGS)
    if not yes and not _agreed(f"Free them in {session.history.pool.path}?"):
        _say("the pool is as it was")
        return int(ExitCode.FINDINGS)
    click.echo(f"they are freed. To undo it: powercut heal --undo {session.write(changes)}")
    return int(ExitCode.NOTHING_FOUND)


def _agreed(question: str, *, err: bool = False) -> bool:
    """Ask the operator; where nobody can answer, that is a no."""
    try:
        return click.confirm(question, default=False, err=err)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=err)
        return False


def _say(text: str) -> None:
    click.echo(f"powercut: {text}", err=True)

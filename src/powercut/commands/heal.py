"""`powercut heal`: undo the updates that make a service fail again and again."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from powercut.commands.options import HTML_OPTION, JSON_OPTION, LOG_OPTION, seconds_option
from powercut.errors import ExitCode

if TYPE_CHECKING:
    from powercut.commands.outcome import Outputs
    from powercut.heal.failing_restart import Attempt
    from powercut.heal.heal_plan import Plan
    from powercut.heal.session import Session
    from powercut.report.heal_document import Result


@click.command("heal")
@LOG_OPTION
@click.option("--pool", metavar="FILE", type=click.Path(dir_okay=False), help="Which pool, if the log has several.")
@click.option(
    "--mode",
    type=click.Choice(("purge", "rollback", "auto")),
    default="auto",
    show_default=True,
    help="purge: undo only what led to the fault; rollback: undo everything since then; auto: purge, then rollback.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    show_default=True,
    help="Undo N steps at once: fewer attempts, but more is lost.",
)
@click.option(
    "--bitcode",
    metavar="FILE",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="LLVM bitcode of the service, to order the plan better; may be repeated.",
)
@seconds_option("--timeout", 30.0, "A restart that takes longer counts as hung.")
@seconds_option("--budget", 600.0, "Time for trying; then heal offers the best that it has found.")
@click.option("--plan", "only_plan", is_flag=True, help="Only show what would be undone.")
@click.option("--leaks", is_flag=True, help="Free objects that nothing can reach; undo nothing.")
@click.option("--untouched", is_flag=True, help="With --leaks: free all objects that the restart does not touch.")
@click.option("--yes", is_flag=True, help="Change the pool without asking.")
@click.option("--undo", metavar="FILE", type=click.Path(dir_okay=False), help="Restore what an earlier heal changed.")
@JSON_OPTION
@HTML_OPTION
@click.argument("restart", nargs=-1, type=click.UNPROCESSED, metavar="[-- RESTART [ARG]...]")
def command(
    restart: tuple[str, ...],
    log: str,
    pool: str | None,
    mode: str,
    batch: int,
    bitcode: tuple[str, ...],
    timeout: float,
    budget: float,
    only_plan: bool,
    leaks: bool,
    untouched: bool,
    yes: bool,
    undo: str | None,
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Heal a pool from the checkpoint log of its service.

    After --, give a command that restarts the service and exits with 0 if it works. heal runs it on copies of the
    pool's folder: first under taint tracking, to find the updates that led to the fault, then with more and more of
    these updates undone. Once the restart works, heal asks you, changes the pool, and keeps what it overwrote. Ctrl-C
    ends the search, and heal offers the best that it has found so far.

    Exits with 0 if the pool was healed (with --plan: if there is a plan) or the service works, 1 if nothing helped or
    you declined.

    \b
    powercut heal --plan -- ./restart-and-ping.sh
    powercut heal -- ./restart-and-ping.sh
    powercut heal --plan --html plan.html -- ./restart-and-ping.sh
    powercut heal --leaks -- ./restart-and-ping.sh
    powercut heal --undo .powercut/guard/heal-1.json
    """
    from powercut.commands.outcome import Outputs
    from powercut.guard.log import require_log
    from powercut.guard.log_folder import nobody_supervises, nobody_uses, nobody_writes
    from powercut.heal.changes import undo as undo_healing
    from powercut.heal.heal_plan import Plan
    from powercut.heal.healer import MODES
    from powercut.heal.session import Restart, Session

    if bool(restart) == bool(undo):
        raise click.UsageError("Give either a command that restarts the service or --undo.")
    if (json_file or html_file) and (undo or leaks):
        raise click.UsageError("--json and --html report a plan, which --leaks and --undo do not have.")
    if untouched and not leaks:
        raise click.UsageError("--untouched works only with --leaks.")
    outputs = Outputs(tuple((name, file) for name, file in (("json", json_file), ("html", html_file)) if file))
    folder = Path(undo).parent if undo else Path(log)
    require_log(folder, "Give heal-N.json in the folder of the log." if undo else "Give its folder with --log.")
    with nobody_supervises(folder), nobody_writes(folder):
        if undo:
            _say(f"restored {undo_healing(Path(undo))} to what it held before it was healed")
            return int(ExitCode.NOTHING_FOUND)
        modes = MODES if mode == "auto" else (mode,)
        chosen = Path(pool) if pool else None
        restarts, code = Restart(restart, Path.cwd(), timeout), [Path(file) for file in bitcode]
        session = Session(folder, chosen, restarts, _say, modes, batch=batch, budget=budget, bitcode=code)
        with nullcontext() if only_plan else nobody_uses(session.history.pool.path):
            if leaks:
                return _free(session, untouched=untouched, only_plan=only_plan, yes=yes)
            first = session.restart()
            plan = Plan() if first.healed else session.plan()[0]
            return _heal(session, plan, first, outputs, only_plan=only_plan, yes=yes)


def _heal(session: Session, plan: Plan, first: Attempt, outputs: Outputs, *, only_plan: bool, yes: bool) -> int:
    """Tell the plan, try it, and write the reports, whatever came of it."""
    from powercut.commands.outcome import do_all, write
    from powercut.report.heal import plan_text
    from powercut.report.heal_document import HealOutcome, Result, heal_document
    from powercut.report.html.heal import render
    from powercut.runs.store import to_json

    if first.healed:
        _say("the service restarts and works. There is nothing to undo. [nothing-to-heal]")
        result = Result(HealOutcome.WELL)
    else:
        click.echo(plan_text(session, plan, first), nl=False, err=outputs.in_pipe)
        _compare(session, first)
        result = Result(HealOutcome.PLANNED if plan.steps else HealOutcome.EMPTY)
    if plan.steps and not only_plan:
        result = _try(session, plan, in_pipe=outputs.in_pipe, yes=yes)
    forms = {"json": to_json, "html": render}

    def written(name: str, file: str) -> None:
        write(lambda: forms[name](heal_document(session, plan, first, result)), file)

    well = result.outcome in (HealOutcome.PLANNED, HealOutcome.HEALED, HealOutcome.WELL)
    actions = [partial(written, name, file) for name, file in outputs.files]
    code = do_all(actions, int(ExitCode.NOTHING_FOUND if well else ExitCode.FINDINGS))
    if result.outcome is HealOutcome.INTERRUPTED:
        raise KeyboardInterrupt
    return code


def _try(session: Session, plan: Plan, *, in_pipe: bool, yes: bool) -> Result:
    from powercut.heal.heal_plan import discarded
    from powercut.report.heal_document import HealOutcome, Result

    healing, pool = session.heal(plan), session.history.pool.path
    if healing is None and session.is_interrupted:
        return Result(HealOutcome.INTERRUPTED)
    if healing is None:
        _say(_in_vain(plan.later, over=session.is_over))
        return Result(HealOutcome.FAILED)
    if healing.is_cut_short:
        _say("the search ended early; this is the best that was found so far, and less may be enough [heal-cut-short]")
    updates, size = discarded(session.history, healing.records)
    share = 100 * updates / max(1, plan.updates)
    click.echo(
        f"Healed by {healing.mode} after {healing.attempts} attempts in {healing.seconds:.1f} s: the service works "
        f"without {updates} of {plan.updates} updates ({share:.2g} %, {size} bytes).",
        err=in_pipe,
    )
    if not (yes or _agreed(f"Undo them in {pool}?", err=in_pipe)):
        return Result(HealOutcome.DECLINED, healing)
    way_back = session.change(healing)
    click.echo(f"{pool} is healed. To revert this: powercut heal --undo {shlex.quote(str(way_back))}", err=in_pipe)
    return Result(HealOutcome.HEALED, healing, way_back)


def _compare(session: Session, first: Attempt) -> None:
    """Say so if the restart fails otherwise than the service did under guard: it may not be what was meant."""
    from powercut.guard.endings import remembered

    endings = [ending for ending in remembered(session.history.log.folder) if ending.how in ("exit", "signal")]
    if endings and first.how != "hung" and not any(ending.is_seen_as(first.how, first.code) for ending in endings):
        text = f"the restart fails differently: under guard, the service {endings[-1]}"
        _say(f"{text}. The command must start the service as before and test nothing else. [heal-other-fault]")


def _in_vain(later: str | None, *, over: bool) -> str:
    """What to say if nothing helped; `later`: the process that failed after that of the pool had ended well."""
    why = "nothing helped before --budget was over" if over else "no step of the plan helps"
    looks = (
        f" {later} failed after the process that used the pool had ended well: look at what it wants." if later else ""
    )
    return f"{why}. The pool is unchanged.{looks} [heal-failed]"


def _free(session: Session, *, untouched: bool, only_plan: bool, yes: bool) -> int:
    from powercut.heal.leaks import Rule
    from powercut.report.heal import leaks_text

    leaks = session.leaks(Rule.TOUCHES if untouched else Rule.PATHS)
    click.echo(leaks_text(session, leaks), nl=False)
    if only_plan or not leaks:
        return int(ExitCode.NOTHING_FOUND if leaks else ExitCode.FINDINGS)
    attempt, changes = session.free(leaks)
    click.echo(f"Without them, the service {attempt}.")
    if not attempt.healed:
        _say("freeing them does not help. The pool is unchanged. [heal-failed]")
        return int(ExitCode.FINDINGS)
    if not (yes or _agreed(f"Free them in {session.history.pool.path}?")):
        return int(ExitCode.FINDINGS)
    way_back = shlex.quote(str(session.write(changes)))
    click.echo(f"The objects are freed. To revert this: powercut heal --undo {way_back}")
    return int(ExitCode.NOTHING_FOUND)


def _agreed(question: str, *, err: bool = False) -> bool:
    """Ask the operator; where nobody can answer, as in a script, that is a no, and said."""
    try:
        agreed = click.confirm(question, default=False, err=err)
    except click.Abort as error:
        if not isinstance(error.__context__, EOFError):  # Ctrl-C
            raise
        click.echo(err=err)
        _say("nobody answered, so the pool is unchanged. Use --yes to change it without asking. [not-confirmed]")
        return False
    if not agreed:
        _say("the pool is unchanged")
    return agreed


def _say(text: str) -> None:
    click.echo(f"powercut: {text}", err=True)

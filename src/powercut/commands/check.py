"""`powercut check`: run a program with assertions (powercut.h) and report which fail."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from powercut import __version__
from powercut.commands.options import JSON_OPTION, OUTPUT_HELP, TIME, baseline_options, optional_workload, settings_from
from powercut.errors import EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from powercut.assertions.check import Checked
    from powercut.runs.store import SavedRun


@click.command("check")
@click.option("--model", metavar="NAME", help="Memory model: x86 (default), eadr, hops or armv8.")
@click.option("--workers", type=int, default=1, metavar="N", help="Number of checking threads (default 1).")
@click.option("--buffer", type=int, default=1 << 15, metavar="N", help="Records buffered per thread (default 32768).")
@click.option("--timeout", type=TIME, metavar="TIME", help="End the program after this time (default: never).")
@click.option("--save", metavar="FILE", type=click.Path(dir_okay=False), help="Save the recording, for --recheck.")
@click.option("--recheck", metavar="FILE", type=click.Path(dir_okay=False), help="Check a saved recording instead.")
@click.option("--output", metavar="DIR", type=click.Path(file_okay=False), help=OUTPUT_HELP)
@baseline_options
@JSON_OPTION
@optional_workload
def command(
    workload: tuple[str, ...],
    model: str | None,
    workers: int,
    buffer: int,
    timeout: float | None,
    save: str | None,
    recheck: str | None,
    output: str | None,
    baseline: str | None,
    write_baseline: bool,
    json_file: str | None,
) -> int:
    """Run a program with assertions and report which fail.

    Exits with 1 if an assertion fails that is not in the baseline (warnings do not count), and with 3 if all hold but
    the program itself fails.

    \b
    cc $(powercut config --cflags) store.c -o store $(powercut config --libs)
    powercut check -- ./store fill
    powercut check --save store.pct -- ./store fill
    powercut check --recheck store.pct --model hops
    powercut check --recheck run.trace      # from powercut record --tracer memory
    """
    from powercut.assertions.check import check
    from powercut.assertions.checker import CheckOptions

    if bool(workload) == bool(recheck):
        raise UsageError("check-what", "give either a program after -- or a saved trace with --recheck.")
    settings, cwd = settings_from({"output": output, "baseline": baseline})
    if recheck:
        return check_again(recheck, model, cwd / settings.baseline, json_file, write_baseline=write_baseline)
    began = time.monotonic()
    trace = _new_file(save) if save else None
    checked = check(list(workload), cwd, CheckOptions(model, workers, buffer, timeout, trace))
    run = _run_of(checked, time.monotonic() - began)
    _mark_known(run, cwd / settings.baseline, write_baseline)
    return _report(run, checked, Path(settings.output), json_file)


def check_again(trace: str, model: str | None, baseline: Path, json_file: str | None, *, write_baseline: bool) -> int:
    """Check what was saved, under any model; nothing is run, and nothing saved."""
    from powercut.assertions.check import check_trace

    began = time.monotonic()
    checked = check_trace(trace, model)
    run = _run_of(checked, time.monotonic() - began)
    _mark_known(run, baseline, write_baseline)
    return _report(run, checked, None, json_file)


def _new_file(name: str) -> Path:
    path = Path(name).absolute()
    if path.exists():
        raise UsageError("trace-exists", f"{path} already exists.", "Choose another file.")
    return path


def _run_of(checked: Checked, seconds: float) -> SavedRun:

    from powercut.assertions.checker import INTERRUPTED
    from powercut.runs.store import SavedRun

    facts = {name: getattr(checked, name) for name in ("operations", "threads", "code", "signal", "ending")}
    return SavedRun(
        version=__version__,
        command=checked.command,
        model=checked.model,
        seconds=seconds,
        misuses=checked.findings,
        notes=checked.notes,
        assertions=facts,
        interrupted=checked.stopped == INTERRUPTED,
    )


def _mark_known(run: SavedRun, path: Path, write: bool) -> None:
    from powercut.assertions.kinds import kinds
    from powercut.report.terminal import Terminal
    from powercut.runs.apply_baseline import apply_baseline
    from powercut.search.events import Said

    with Terminal() as terminal:
        for note in run.notes:
            terminal.tell(Said(note, warning=True))
        names = {kind.kind for kind in kinds()}
        run.notes += apply_baseline(path, run.misuses, names, terminal.tell, write=write)


def _report(run: SavedRun, checked: Checked, output: Path | None, json_file: str | None) -> int:
    from powercut.commands.main import INTERRUPTED
    from powercut.commands.outcome import write_report
    from powercut.errors import ExitCode
    from powercut.report.assertions import check_document, check_text, has_new_failures
    from powercut.runs.store import new_run_folder, save_run

    folder = None
    try:
        if output is not None:
            folder = new_run_folder(output)
            save_run(folder, run)
    finally:  # what was found is shown even where it cannot be saved
        written = write_report(check_text(run, folder), check_document(run), json_file, int(ExitCode.NOTHING_FOUND))
    if written != ExitCode.NOTHING_FOUND:
        return written
    if has_new_failures(run):
        return int(ExitCode.FINDINGS)
    if run.interrupted:
        return INTERRUPTED
    if checked.ending:
        hint = "Increase --timeout if it is slow." if checked.stopped else "Everything it did before that was checked."
        raise EnvironmentFailure("program-failed", f"the program {checked.command[0]!r} {checked.ending}.", hint)
    return int(ExitCode.NOTHING_FOUND)

"""Running a program under the checker, which outlives it: the recording is checked however the program ends."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from powercut.assertions.build import checker
from powercut.assertions.outcome import Outcome, checker_failed, read_outcome
from powercut.errors import EnvironmentFailure, UsageError, suggestion
from powercut.interrupts import pass_on
from powercut.programs import find_program
from powercut.quick_dataclass import dataclass

HUNG, INTERRUPTED = "hung", "interrupted"
MODELS = ("x86", "eadr", "hops", "armv8")
MOST_WORKERS, MOST_BUFFER = 64, 1 << 24
MAGIC = b"PCUTTRC1"  # of a saved trace: native/runtime/checker/trace_file.h
_PATIENCE = 5.0  # seconds that a program has to end when it is asked to


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check.

    Attributes:
        model: one of `MODELS`; None leaves it to the program, or x86.
        workers: threads that check.
        buffer: records that a thread may be ahead of the checking.
        timeout: seconds after which the program has hung; None: never.
        trace: a new file for everything that was recorded.
        variables: added to the program's environment.
        quiet: what the program prints goes nowhere.
    """

    model: str | None = None
    workers: int = 1
    buffer: int = 1 << 15
    timeout: float | None = None
    trace: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    quiet: bool = False


def run_checked(command: Sequence[str], cwd: Path, options: CheckOptions) -> tuple[Outcome, str]:
    """Run a program under check, to its end; the outcome, and if that is not the program's own end, why."""
    argv = [find_program(command[0], cwd), *command[1:]]
    with tempfile.TemporaryDirectory(prefix="powercut-") as folder:
        out = Path(folder) / "outcome.json"
        words = [str(checker()), "--out", str(out), *_arguments(options), "--", *argv]
        stopped = _run(words, cwd, options)
        outcome = read_outcome(out)
    _complain(outcome, command[0], options)
    return outcome, stopped


def recheck(trace: Path, model: str | None) -> Outcome:
    """Check a saved trace again, under the same or another model."""
    with tempfile.TemporaryDirectory(prefix="powercut-") as folder:
        out = Path(folder) / "outcome.json"
        _require_model(model)
        words = [str(checker()), "--out", str(out), *(["--model", model] if model else []), "--recheck", str(trace)]
        subprocess.run(words, check=False, stdin=subprocess.DEVNULL)
        outcome = read_outcome(out)
    if outcome.trouble:
        raise UsageError("bad-check-trace", f"cannot check {trace}: {outcome.trouble}.")
    return outcome


def is_check_trace(path: Path) -> bool:
    """Whether a file is what `powercut check --save` writes."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def model_of_memory(name: str | None) -> str | None:
    """The model that stands for a memory of `--memory`; None: the default."""
    return {"px86": "x86", "auto": None}.get(name, name) if name else None


def _arguments(options: CheckOptions) -> list[str]:
    _require_model(options.model)
    if not 1 <= options.workers <= MOST_WORKERS:
        raise UsageError("bad-workers", f"--workers must be between 1 and {MOST_WORKERS}, not {options.workers}.")
    if not 1 <= options.buffer <= MOST_BUFFER:
        raise UsageError("bad-buffer", f"--buffer must be between 1 and {MOST_BUFFER}, not {options.buffer}.")
    buffer = 1 << max(4, (options.buffer - 1).bit_length())
    words = ["--workers", str(options.workers), "--buffer", str(buffer)]
    words += ["--model", options.model] if options.model else []
    return words + (["--trace", str(options.trace)] if options.trace else [])


def _require_model(name: str | None) -> None:
    if name is not None and name not in MODELS:
        raise UsageError("unknown-check-model", f"unknown model {name!r}.", suggestion(name, MODELS))


def _run(words: list[str], cwd: Path, options: CheckOptions) -> str:
    """Run the checker to its end; why the program had to be ended, if it had to."""
    environment = {**os.environ, **options.variables}
    output = subprocess.DEVNULL if options.quiet else None
    mortal = ["--parent", str(os.getpid())]  # even if we are killed, the program does not go on
    process = subprocess.Popen([words[0], *mortal, *words[1:]], cwd=cwd, env=environment, stdout=output, stderr=output)
    stopped = ""
    try:
        pass_on()  # an interrupt that came while Popen forked may be lost
        process.wait(options.timeout)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as why:
        stopped = HUNG if isinstance(why, subprocess.TimeoutExpired) else INTERRUPTED
        _end_program(process)
    if process.returncode != 0:
        raise checker_failed(f"it exited with status {process.returncode}")
    return stopped


def _end_program(process: subprocess.Popen[bytes]) -> None:
    """Ask the checker to end the program, then to kill it; what was recorded is checked all the same."""
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE)
            return
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    process.wait()


def _complain(outcome: Outcome, name: str, options: CheckOptions) -> None:
    reason = os.strerror(outcome.reason)
    if outcome.trouble == "cannot-start":
        raise EnvironmentFailure("cannot-start", f"cannot start the program {name!r}: {reason}.")
    if outcome.trouble == "cannot-save":
        raise EnvironmentFailure("output-unwritable", f"cannot write the trace {options.trace}: {reason}.")
    if outcome.trouble:
        raise checker_failed(f"{outcome.trouble}: {reason}")

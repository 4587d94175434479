"""Checking a program's assertions from Python.

run = powercut.check_program(["./store", "fill"])
assert not run.failures
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.assertions.checker import INTERRUPTED, CheckOptions, recheck, run_checked
from powercut.assertions.outcome import Outcome
from powercut.assertions.results import misuses
from powercut.errors import EnvironmentFailure
from powercut.lint.misuse import Misuse
from powercut.quick_dataclass import dataclass


@dataclass(slots=True)
class Checked:
    """A program that ran under check.

    Attributes:
        findings: one for each root cause, with its places and how often it was seen.
        code, signal: the exit status and signal of the program; 0 and 0 if it succeeded.
        stopped: "hung" or "interrupted" if powercut ended it.
    """

    command: list[str]
    model: str
    operations: int
    threads: int
    code: int
    signal: int
    findings: list[Misuse]
    notes: list[str]
    stopped: str = ""

    @property
    def failures(self) -> list[Misuse]:
        """Findings that can lose data, or that kept something from being checked."""
        return [finding for finding in self.findings if finding.is_bug]

    @property
    def warnings(self) -> list[Misuse]:
        """Findings that only cost time."""
        return [finding for finding in self.findings if not finding.is_bug]

    @property
    def ending(self) -> str:
        """How the program failed; empty if it succeeded."""
        if self.stopped:
            return f"was ended ({self.stopped})"
        if self.signal:
            return f"was killed by signal {self.signal} ({signal.strsignal(self.signal)})"
        return f"exited with status {self.code}" if self.code else ""


def check_program(command: Sequence[str], *, cwd: str | Path | None = None, **options: Any) -> Checked:
    """Run a program that was built with powercut.h and check its assertions.

    Args:
        command: the program and its arguments.
        cwd: where to start it.
        options: model, workers, buffer, timeout, trace, variables, quiet: see `CheckOptions`.

    Returns:
        The findings, and how the program ended. A failing program raises no error here; one without assertions does.
    """
    folder = Path(cwd) if cwd is not None else Path.cwd()
    checked = check([os.fsdecode(word) for word in command], folder, CheckOptions(**options))
    if checked.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return checked


def check(command: list[str], cwd: Path, options: CheckOptions) -> Checked:
    """The same, but if it is interrupted, it returns what was found so far."""
    outcome, stopped = run_checked(command, cwd, options)
    if not outcome.programs and not outcome.findings and not stopped:
        hint = "Build it with powercut cc, or build it with the flags of powercut config and call pc_init."
        raise EnvironmentFailure("nothing-tracked", f"the program {command[0]!r} has no assertions.", hint)
    return _checked(outcome, command, cwd, stopped)


def check_trace(trace: str | Path, model: str | None = None) -> Checked:
    """Check the assertions in a saved trace or a recording, under the same or another model."""
    from powercut.assertions.traced import is_recording, save_assertions

    path = Path(trace)
    if not is_recording(path):
        return _checked(recheck(path, model), [], Path.cwd())
    with tempfile.TemporaryDirectory(prefix="powercut-") as folder:
        saved = Path(folder) / "assertions"
        notes = save_assertions(path, saved)
        checked = _checked(recheck(saved, model), [], Path.cwd())
        checked.notes += notes
        return checked


def _checked(outcome: Outcome, command: list[str], cwd: Path, stopped: str = "") -> Checked:
    notes = [f"{outcome.lost} more findings were dropped for lack of space"] if outcome.lost else []
    if not outcome.operations:
        notes.append("nothing was recorded: the program reported no operation and stored to no pool or mapped file")
    return Checked(
        command=command,
        model=outcome.model,
        operations=outcome.operations,
        threads=outcome.threads,
        code=outcome.code,
        signal=outcome.signal,
        findings=misuses(outcome, cwd),
        notes=notes,
        stopped=stopped,
    )

"""A Python function as an oracle, called in the worker itself: no process is started for a state.

The function gets the data folder's path and, if it needs a second argument or has one named ``acked``, what the
program had printed before the power cut; if it has one named ``sent``, also what the program had sent over sockets.
Returning None or True is a pass; False or an exception is not. A function that ends or crashes the process, or does
not return in time, is judged by the executor, which then starts another worker.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from powercut import _engine
from powercut.oracle.protocol import Place, Recorded, Told
from powercut.oracle.verdict import Outcome, Verdict

_KEPT = 8192  # characters of the output that are kept


class CallableOracle:
    """Judges an image by calling a function.

    Attributes:
        slack: seconds on top of the time-out until the executor ends the worker.
    """

    slack = 0.5
    forked = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._wants_acked = _takes_two(function)
        self._wants_sent = "sent" in _parameters(function)

    def open(self, place: Place) -> None:
        """Nothing to get ready."""

    def judge(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """Call the function in the folder; what it returns is the verdict."""
        printed = io.StringIO()
        start = time.monotonic()
        try:
            os.chdir(folder)
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                answer = self._call(folder, told)
            outcome, reason = _read(answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, too: the function said no, in its way
            outcome, reason = _read_exception(error)
        seconds = time.monotonic() - start
        _engine.reap_strays()
        code = 1 if outcome is Outcome.FAIL else 0
        return Verdict(outcome, code, (printed.getvalue() + reason)[-_KEPT:], seconds)

    def judge_anew(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """The same: there is but one way to call a function."""
        return self.judge(folder, told, tick)

    def must_be_proved(self, verdict: Verdict) -> bool:
        """Never: no fork gave it."""
        return False

    def stop_forking(self, why: str) -> None:
        """Nothing is forked."""

    def judge_traced(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """The same: a function is called in the worker itself, which no tracer watches."""
        return self.judge(folder, told, tick)

    def judge_watched(
        self, folder: Path, told: Told, tick: Callable[[], object] | None = None
    ) -> tuple[Verdict, Recorded | None]:
        """The same, and no record."""
        return self.judge(folder, told, tick), None

    def _call(self, folder: Path, told: Told) -> object:
        named = {"sent": told.sent} if self._wants_sent else {}
        return self._function(folder, told.printed, **named) if self._wants_acked else self._function(folder, **named)


def _read(answer: object) -> tuple[Outcome, str]:
    if type(answer).__name__ == "bool_":  # numpy's
        answer = bool(answer)
    if answer is None or answer is True:
        return Outcome.PASS, ""
    if answer is False:
        return Outcome.FAIL, "the check returned False"
    # Numbers and strings could mean either: what cannot be told is not a pass.
    return Outcome.ERROR, f"the check returned {answer!r}; it must return None or True to pass, False to fail"


def _read_exception(error: BaseException) -> tuple[Outcome, str]:
    if isinstance(error, SystemExit) and error.code in (0, None):
        return Outcome.PASS, ""
    return Outcome.FAIL, "".join(traceback.format_exception(error))


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether what was printed is wanted: as the second argument that must be given by position, or by its name."""
    parameters = _parameters(function)
    required = [
        p
        for name, p in parameters.items()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty and name != "sent"
    ]
    return len(required) >= 2 or "acked" in parameters

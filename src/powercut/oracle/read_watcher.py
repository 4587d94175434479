"""What a check looks at: the check run under the system-call tracer, which notes every look at the data folder.

Before: an image in the data folder. After: the trace of the check's looks and how the check ended; neither if the
tracer could not follow it. A check that maps files is from then on watched inside Valgrind, where that is wanted: then
words count as read instead of pages.
"""

from __future__ import annotations

import os
from pathlib import Path

from powercut.errors import PowercutError
from powercut.native_programs import call_tracer, loads_tool
from powercut.oracle.verdict import Outcome, Verdict
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

_OUTCOMES = {b"exited": Outcome.FAIL, b"signaled": Outcome.CRASH}


class ReadWatcher:
    """Watches commands, in a worker's own folder.

    Attributes:
        inside: the Valgrind tool in which commands run; None if they run by themselves.
    """

    def __init__(self, scratch: Path, folder: Path, *, closely: bool, layered: bool = False) -> None:
        """`closely`: words instead of pages of mapped files, which takes many times as long."""
        self.inside: Path | None = None
        self._tool = loads_tool() if closely else None
        self._trace = scratch / "looks.trace"
        self._folder = os.path.realpath(folder)
        # The tracer follows files by their inodes: the files beside the data folder must have none of its numbers.
        self._sees_all = layered or scratch.stat().st_dev == folder.stat().st_dev

    def go_outside(self) -> None:
        """From now on commands run by themselves."""
        self.inside = self._tool = None

    def command(self, argv: list[bytes], cwd: bytes) -> list[bytes]:
        """The command that runs another one and watches it."""
        self._trace.unlink(missing_ok=True)
        words = [str(call_tracer()), "--looks", "--output", str(self._trace), "--dir", self._folder]
        words += ["--memory-tool", str(self.inside)] if self.inside else []
        return [*map(os.fsencode, words), b"--cwd", cwd, b"--", *argv]

    def trace(self) -> Trace | None:
        """What the last command looked at, if it was followed to its end."""
        try:
            trace = Trace.open(self._trace)
            if len(trace.of_kind(Kind.LOOK_PAGES)) or len(trace.of_kind(Kind.LOOK_MAP)):
                self.inside = self._tool
            return trace if self._sees_all and not trace.truncated else None
        except PowercutError:
            return None
        finally:
            self._trace.unlink(missing_ok=True)


def verdict_in(trace: Trace, verdict: Verdict) -> Verdict:
    """How the command itself ended, whose tracer ended with a verdict."""
    how, _, number = trace.meta["exit"].partition(b" ")
    if how not in _OUTCOMES:
        return Verdict(Outcome.ERROR, 0, "the tracer did not see the end of the check", verdict.seconds)
    code = int(number)
    outcome = Outcome.PASS if how == b"exited" and code == 0 else _OUTCOMES[how]
    return Verdict(outcome, code, verdict.output, verdict.seconds)

"""One execution of a program under the tracer, however it ends.

A recording wants a program that ends well, because crash states of a broken run mean nothing. Here the ending is itself
what is asked for: a recovery that dies, a schedule under which threads wait for each other for ever.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from pathlib import Path

from powercut.oracle.verdict import Outcome
from powercut.quick_dataclass import dataclass
from powercut.record.recorder import HUNG, RecordOptions, printed_files, private_copy, trace_command
from powercut.trace.reader import Trace

_SAID = 4000  # bytes of what it printed last


@dataclass(frozen=True, slots=True)
class Execution:
    """A program that ran.

    Attributes:
        outcome: PASS if it exited with 0, FAIL with another status, CRASH of a signal, HANG if it was ended, and ERROR
            if nobody saw how it ended.
        code: exit status or signal.
        seconds: what it took, with the tracer.
        printed: files with its standard output and its standard error.
        words: how it ended, where there is more to say than that.
    """

    trace: Trace
    outcome: Outcome
    code: int
    seconds: float
    printed: tuple[Path, Path]
    words: str = ""

    @property
    def ending(self) -> str:
        """How it ended, in words that follow a name."""
        if self.words:
            return self.words
        if self.outcome is Outcome.HANG:
            return "did not end in time"
        if self.outcome is Outcome.CRASH:
            return f"was killed by signal {self.code} ({signal.strsignal(self.code)})"
        if self.outcome is Outcome.ERROR:
            return "ended in an unknown way"
        return f"exited with status {self.code}"

    def last_words(self) -> str:
        """The end of what it printed, standard error last."""
        return "\n".join(words for words in map(_tail, self.printed) if words)


def execute(command: Sequence[str], options: RecordOptions) -> Execution:
    """Run a command in a private copy of its folder; its trace, which is cut short if it was ended."""
    out, err = printed_files(options)
    with private_copy(options) as copy:
        began = time.monotonic()
        status = trace_command(command, options, copy)
        seconds = time.monotonic() - began
    trace = Trace.open(options.output)
    if status == HUNG:
        return Execution(trace, Outcome.HANG, 0, seconds, (out, err))
    how, _, number = trace.meta.get("exit", b"").decode("ascii", "replace").partition(" ")
    code = int(number) if number.isdecimal() else 0
    outcome = {"exited": Outcome.FAIL if code else Outcome.PASS, "signaled": Outcome.CRASH}.get(how, Outcome.ERROR)
    return Execution(trace, outcome, code, seconds, (out, err))


def _tail(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - _SAID))
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""

"""Where a check died: the check run once more, under the system-call tracer, which notes the stack of a deadly signal.

Before: a command that died of a signal on an image, and the image again as it was. After: the frames of the thread that
died, innermost first; none if it did not die this time or nothing could be told.
"""

from __future__ import annotations

import os
from pathlib import Path

from powercut.errors import PowercutError
from powercut.native_programs import call_tracer
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.symbols import StackResolver


class DeathWatch:
    """Runs commands under the tracer, in a worker's own folder."""

    def __init__(self, scratch: Path) -> None:
        self._trace = scratch / "death.trace"
        self._empty = scratch / "empty"  # the tracer wants a data folder; what the check writes is of no interest

    def command(self, argv: list[bytes], cwd: bytes) -> list[bytes]:
        """The command that runs another one under the tracer."""
        self._empty.mkdir(exist_ok=True)
        self._trace.unlink(missing_ok=True)
        words = [str(call_tracer()), "--output", str(self._trace), "--dir", str(self._empty), "--cwd", os.fsdecode(cwd)]
        return [*map(os.fsencode, words), b"--", *argv]

    def frames(self) -> tuple[str, ...]:
        """The stack of the last deadly signal."""
        try:
            trace = Trace.open(self._trace)
            signals = trace.of_kind(Kind.SIGNAL)
            if not len(signals) or not trace.meta.get("exit", b"").startswith(b"signaled"):
                return ()
            stack = int(trace.events["stack"][signals[-1]])
            return tuple(map(str, StackResolver.of(trace).frames(stack))) if stack else ()
        except PowercutError:
            return ()
        finally:
            self._trace.unlink(missing_ok=True)

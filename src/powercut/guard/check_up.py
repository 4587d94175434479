"""Asking a running service whether it is well, by the user's command, and waiting for its end.

Before: a service runs. After: it ended, or its check failed or did not answer in time; of the check no process is left.
Whatever ends the service ends the wait, also while the check is asked: it would not answer.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from powercut.errors import EnvironmentFailure
from powercut.guard.endings import Ending
from powercut.programs import descendants

_LOOK = 0.3  # seconds that a signal may wait
Process = subprocess.Popen[bytes]


def one_ends_within(processes: Sequence[Process], seconds: float) -> bool:
    """Wait until one of some processes ends.

    A signal that comes just before a wait begins is answered after it, so each is short.
    """
    deadline = time.monotonic() + seconds
    with ExitStack() as opened:
        watched = []
        for process in processes:
            if process.poll() is not None:
                return True
            watched.append(os.pidfd_open(process.pid))
            opened.callback(os.close, watched[-1])
        while all(process.poll() is None for process in processes):
            left = min(_LOOK, deadline - time.monotonic())
            if left <= 0:
                return False
            select.select(watched, [], [], left)
        return True


def ask(check: Sequence[str], timeout: float, service: Process) -> Ending | None:
    """Run the check; how the service is unwell, None: it is well, or ended."""
    try:
        asked = subprocess.Popen(check)
    except OSError as error:
        message = f"cannot start the check {check[0]!r}: {error.strerror}."
        raise EnvironmentFailure("guard-check", message) from error
    try:
        has_ended = one_ends_within([asked, service], timeout)
    finally:
        _kill(asked)
    if service.poll() is not None or asked.returncode == 0:
        return None
    return Ending("check", asked.returncode) if has_ended else Ending("hang", 0)


def _kill(asked: Process) -> None:
    """With all that it started; nothing happens if it ended."""
    if asked.poll() is None:
        for pid in [*descendants(asked.pid), asked.pid]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    asked.wait()

"""Signals of a guarded service: those that would end powercut end the service instead, with all that it started.

Before: nothing runs. While it runs: whoever ends powercut ends the service, whenever that comes. After: the handlers
are as they were, and it is known whether the service was told to end.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from types import FrameType
from typing import Self

from powercut.programs import descendants

TOLD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # what tells a service to end
_PATIENCE = 10.0  # seconds a service gets to end when it is told to

Service = subprocess.Popen[bytes]


class HandingOn:
    """Hands signals on to a service.

    Attributes:
        was_told: whether one came.
    """

    def __init__(self) -> None:
        self.was_told = False
        self._service: Service | None = None
        self._early: list[int] = []

    def __enter__(self) -> Self:
        wanted = [number for number in TOLD if signal.getsignal(number) is not signal.SIG_IGN]  # nohup stays nohup
        self._before = {number: signal.signal(number, self._hand_on) for number in wanted}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, service: Service) -> None:
        """From now on to this service; what came before it was started, too."""
        self._service = service
        for number in self._early:
            _tell(service, number)

    def _hand_on(self, number: int, _: FrameType | None) -> None:
        self.was_told = True
        if self._service is None:
            self._early.append(number)
        elif not (number == signal.SIGINT and _in_foreground()):  # there the terminal has told it, too
            _tell(self._service, number)


def end(service: Service) -> None:
    """End a service and all that it started; they get some time to do so by themselves."""
    with ExitStack() as opened:
        family = []
        for pid in [*descendants(service.pid), service.pid]:
            with suppress(ProcessLookupError):
                family.append(os.pidfd_open(pid))
                opened.callback(os.close, family[-1])
        _tell(service, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE
        for process in family:
            ended, _, _ = select.select([process], [], [], max(0.0, deadline - time.monotonic()))
            if not ended:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
    service.wait()


def _tell(service: Service, number: int) -> None:
    """Tell a service and all that it started: a shell that runs it would keep it to itself."""
    if service.poll() is not None:
        return
    for pid in [*descendants(service.pid), service.pid]:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _in_foreground() -> bool:
    """Whether Ctrl-C reaches our processes."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)

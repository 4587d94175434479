"""Keeping the log of a running service small, without ever being in the way of its start or its end.

Before: a service is about to write a log. While it runs: the log is reclaimed (`reclaim`) whenever enough was written,
step by step, by a process of its own: that can be killed at any moment, and nobody needs to wait while it waits for a
disk. A service that writes faster than that gets is asked for patience (the lock `brake`, see
native/runtime/guard/segments.c) before the log is twice as large as it should be, and for more where it is about to be.
After: the process is killed, in the middle of a step if need be, whose work is then done again another time. Where no
service runs any more, `finish` waits a little until the log is small again, or a signal comes; what takes longer, the
process does by itself.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from powercut.errors import UsageError
from powercut.guard.housekeeping import SEGMENT
from powercut.guard.reclaim import load_of, reclaim

BRAKE = "brake"
TWICE = 2  # times its bound: so large a log may become
PATIENCE = ((3, 500), (6, 100))  # segments below that, and the milliseconds that a service waits for each of them then
_BETWEEN_LOOKS = 1.0  # seconds, where nobody says that a segment was begun
_FINISH = 0.2  # seconds that the end of a service waits until the log is small
_NAP = 0.05  # seconds between two looks for a signal
_DONE, _NOTHING = "done", "nothing to do"  # what the process tells; or why it failed
_STEP, _REST = "step\n", "rest\n"  # what it is told: to do one, or all that are left, and to end then


class Shrinking:
    """The log is kept small while a block runs, in which a service writes it."""

    def __init__(self, folder: Path, versions: int, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._command = [sys.executable, "-m", __name__, str(folder), str(versions)]
        self._process: subprocess.Popen[str] | None = None
        self._wake, self._idle, self._over = threading.Event(), threading.Event(), threading.Event()
        self._steering, self._patience = threading.Lock(), 0
        self._brake: int | None = None
        self._is_left = False
        self._thread = threading.Thread(target=self._work, name="shrinking", daemon=True)

    def __enter__(self) -> Self:
        with suppress(OSError):  # no room: then the log does not grow, either
            self._brake = os.open(self._folder / BRAKE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._steering:
            self._over.set()
            if self._process is not None and not self._is_left:
                self._process.kill()
            elif self._process is not None and self._process.stdin is not None:
                with suppress(OSError):  # it was killed
                    self._process.stdin.write(_REST)
                    self._process.stdin.close()
            if self._brake is not None:
                os.close(self._brake)
        self._wake.set()
        self._thread.join(_NAP)  # longer only if the process waits for a disk: nobody else does

    @staticmethod
    def is_due(folder: Path) -> bool:
        """Whether a log is larger than it may be, so that somebody should wait until it is not."""
        with suppress(OSError, UsageError):
            load = load_of(folder)
            return load.fresh > TWICE * load.bound
        return False

    def look(self) -> None:
        """Look how large the log is: a segment was begun."""
        with suppress(OSError, UsageError):
            load = load_of(self._folder)
            left = TWICE * load.bound - load.fresh
            self._steer(next((patience for below, patience in PATIENCE if left < below * SEGMENT), 0))
            if load.fresh >= load.bound:
                self._wake.set()

    def finish(self, was_told: Callable[[], bool]) -> None:
        """Wait until the log is as small as it should be, nothing more can be done, or powercut is told to end."""
        self._idle.clear()
        self._wake.set()
        deadline = time.monotonic() + _FINISH
        while self.is_due(self._folder) and self._thread.is_alive() and not self._idle.is_set() and not was_told():
            if time.monotonic() > deadline:
                self._is_left = True
                return
            self._thread.join(_NAP)

    def _steer(self, patience: int) -> None:
        """Ask the service for patience, so many milliseconds, or none: it waits while this lock is held."""
        with self._steering:
            if patience != self._patience and self._brake is not None and not self._over.is_set():
                with suppress(OSError):  # no room
                    os.pwrite(self._brake, patience.to_bytes(4, "little"), 0)
                with suppress(BlockingIOError):  # the service looks at it now: it will look again
                    fcntl.flock(self._brake, (fcntl.LOCK_EX if patience else fcntl.LOCK_UN) | fcntl.LOCK_NB)
                    self._patience = patience

    def _work(self) -> None:
        while not self._over.is_set():
            told = self._step() if self._is_worth_it() else _NOTHING
            if self._over.is_set():
                return
            if told == _DONE:
                self.look()
                continue
            if told != _NOTHING:
                self._brake_no_more()
                self._say(f"cannot shrink the checkpoint log: {told or 'the process was killed'} [guard-reclaim]")
                return
            self._idle.set()
            self._wake.wait(_BETWEEN_LOOKS)
            self._wake.clear()

    def _is_worth_it(self) -> bool:
        """A first look that needs no process."""
        try:
            load = load_of(self._folder)
        except (OSError, UsageError):
            return True  # it says what is wrong
        return load.fresh >= load.bound

    def _step(self) -> str:
        """Let the process do a step, or find out that there is nothing to do; what it says."""
        with self._steering:
            if self._over.is_set():
                return _NOTHING
            if self._process is None:
                pipe = subprocess.PIPE
                self._process = subprocess.Popen(
                    self._command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
                )
            process = self._process
        if process.stdin is None or process.stdout is None:
            return "it has no pipes"
        with suppress(OSError):  # it was killed: then it says nothing
            process.stdin.write(_STEP)
            process.stdin.flush()
        return process.stdout.readline().rstrip("\n")

    def _brake_no_more(self) -> None:
        self._steer(0)
        with self._steering:
            if self._brake is not None:
                os.close(self._brake)
                self._brake = None


def _main(folder: str, versions: str) -> None:
    """A step for each line that asks for one; it ends with whoever sends them, or when all is done that is left."""
    for asked in sys.stdin:
        told = _step_of(folder, versions)
        while asked == _REST and told == _DONE:
            told = _step_of(folder, versions)
        with suppress(OSError):  # nobody waits for it any more
            os.write(sys.stdout.fileno(), f"{told}\n".encode())


def _step_of(folder: str, versions: str) -> str:
    try:
        return _NOTHING if reclaim(Path(folder), int(versions)) is None else _DONE
    except (OSError, UsageError) as error:
        return str(error)


if __name__ == "__main__":
    _main(*sys.argv[1:])

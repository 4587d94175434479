"""What guard does not see of a service, and saying so: an operator relies on the log.

Before: a service is about to run. While it runs: if its log stays empty, that is said, more and more rarely looked for;
who waits for the end of a service hears it too late. After: what was not seen was said, each of it once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from powercut.errors import UsageError
from powercut.guard.housekeeping import SEGMENT
from powercut.guard.log import has_changes, segments_of
from powercut.guard.log_folder import is_written
from powercut.guard.present import read_present

SOON = 10.0  # seconds in which most services have mapped their pools; each look waits twice as long as the one before
_PMDK = "guard sees pools that PMDK maps as a shared library; name others with --pool."
_STATIC = "Is it linked statically as a whole? Then guard sees nothing of it. Or does it map another file than {pools}?"
_BACKGROUND = "Run the service in the foreground: guard does not see it in the background."
_BLIND = (
    "the service changed its pool, but nothing of that {when} logged: it makes data durable by itself. Is libpmem "
    "linked statically? Link the shared one, or build the service with powercut cc. [guard-blind]"
)
_NO_ROOM = f"nothing {{when}} logged: the disk of the log has no room for {SEGMENT >> 20} MiB [guard-log-full]"


class Unseen:
    """Looks after the log of one run, whose first segment is `first`; `pools`: those that the user named."""

    def __init__(
        self, folder: Path, first: Path, pools: Sequence[Path], say: Callable[[str], None], soon: float = SOON
    ) -> None:
        self._folder, self._first, self._say, self._soon = folder, first, say, soon
        names = " and ".join(map(str, pools))
        self._hint = _STATIC.format(pools=names) if names else _PMDK
        self._over, self._is_said = threading.Event(), False

    def __enter__(self) -> Self:
        threading.Thread(target=self._look_now_and_then, name="unseen", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def say_at_end(self) -> None:
        """What is known when the service has ended."""
        if not self._is_said and self._is_blind():
            self._say(_BLIND.format(when="was"))
        if not holds_something(self._first):
            mapped = f"the service mapped no pool, so nothing was logged. {self._hint} {_BACKGROUND} [guard-nothing]"
            self._say(_NO_ROOM.format(when="was") if self._has_no_room() else mapped)
            return
        if is_written(self._folder):
            text = "the service ended, but a program it started is still running. guard does not see how that ends."
            self._say(f"{text} Run the service in the foreground. [guard-background]")

    def _look_now_and_then(self) -> None:
        wait, is_first = self._soon, True
        while not self._over.wait(wait):
            with suppress(OSError, UsageError):  # what is wrong is said where it matters
                if self._has_logged() or self._say_now(is_first):
                    return
            wait, is_first = 2 * wait, False

    def _say_now(self, is_first: bool) -> bool:
        """Say what is wrong by now; whether there is nothing left to look for."""
        if holds_something(self._first):
            self._is_said = self._is_blind() and not self._over.is_set()
            if self._is_said:
                self._say(_BLIND.format(when="is"))
        elif is_first:
            mapped = f"the service has not mapped a pool yet, so nothing is logged. {self._hint} [guard-nothing]"
            self._say(_NO_ROOM.format(when="is") if self._has_no_room() else mapped)
        return self._is_said

    def _has_no_room(self) -> bool:
        """Whether a log could not be begun, if one was wanted: then nobody knows whether a pool was mapped."""
        disk = os.statvfs(self._folder)
        return disk.f_bavail * disk.f_frsize < SEGMENT

    def _written(self) -> list[Path]:
        return [path for number, path in segments_of(self._folder).items() if number >= int(self._first.stem)]

    def _has_logged(self) -> bool:
        """Whether this run logged a change."""
        written = [path for path in self._written() if path.stat().st_size]
        return len(written) > 1 or any(map(has_changes, written))

    def _is_blind(self) -> bool:
        """Whether this run logged that it mapped pools, and no change of them, and a pool is not what the log says."""
        if len(self._written()) != 1 or self._has_logged():  # most often: then all of the log need not be read
            return False
        pools = [held for held in read_present(self._folder).pools.values() if held.pool.base.exists()]
        there = [held for held in pools if held.pool.path.exists() and held.is_of_this_pool()]
        return any(any(True for _ in held.differences()) for held in there)


def holds_something(first: Path) -> bool:
    """Whether there are records since a segment was to be begun; on a full disk an empty one is left."""
    since = (path for number, path in segments_of(first.parent).items() if number >= int(first.stem))
    return any(path.exists() and path.stat().st_size > 0 for path in since)

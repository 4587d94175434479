"""The folder of a log, and its pools: who may write them.

The lock is held by the one program that writes the log, and vanishes with it: the service, for as long as it lives, or
powercut, while it adds to the log, heals or undoes.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from powercut.errors import UsageError


@contextmanager
def nobody_writes(log: Path) -> Iterator[None]:
    """Refuse to go on while the service runs."""
    try:
        lock = (log / "lock").open("w")
    except OSError as error:
        message = f"{log} holds no checkpoint log: {error.strerror}."
        raise UsageError("no-guard-log", message, "Name its folder with --log.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = f"the service that writes the log {log} is running."
            raise UsageError("guard-running", message, "Stop it first. Nothing was changed.") from error
        yield


@contextmanager
def nobody_uses(pool: Path) -> Iterator[None]:
    """Refuse to go on while a program has a pool open, guarded or not: PMDK holds a lock of the file while it has."""
    try:
        file = pool.open("r+b")
    except OSError as error:
        message = f"the pool {pool} cannot be changed: {error.strerror}."
        raise UsageError("pool-unwritable", message, "Nothing was changed.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = f"a program has the pool {pool} open."
            raise UsageError("pool-in-use", message, "Stop it first. Nothing was changed.") from error
        yield

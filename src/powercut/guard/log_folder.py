"""The folder of a log, and its pools: who may write them.

Three locks are held by processes and vanish with them: `lock` by the one program that writes the log, which is the
service, for as long as it lives, or powercut, while it adds to the log, heals or undoes; `reclaiming` by whoever makes
the log smaller, which may go on while the service writes; `supervisor` by `powercut guard`, which may be about to start
the service again. A fourth, `brake`, is there to be waited for (`shrinking`).
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from powercut.errors import UsageError


@contextmanager
def nobody_adds(log: Path) -> Iterator[None]:
    """Refuse to go on while the service runs; the log may become smaller meanwhile: its end stays as it is."""
    with _locked(log / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
        yield


@contextmanager
def nobody_writes(log: Path) -> Iterator[None]:
    """Refuse to go on while the service runs; wait for the end of a reclaim that it left."""
    with _locked(log / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB), nobody_reclaims(log):
        yield


def is_written(log: Path) -> bool:
    """Whether a program has the log open to write it; nothing is waited for."""
    try:
        with _locked(log / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
            return False
    except UsageError:
        return True


@contextmanager
def nobody_supervises(log: Path) -> Iterator[None]:
    """Be the only one who starts services that write a log, or make sure that nobody is about to."""
    message = f"another powercut guard is running with the log {log}."
    with _locked(log / "supervisor", fcntl.LOCK_EX | fcntl.LOCK_NB, message):
        yield


@contextmanager
def nobody_reclaims(log: Path) -> Iterator[None]:
    """Be the only one who makes a log smaller: wait for the others."""
    with _locked(log / "reclaiming", fcntl.LOCK_EX):
        yield


@contextmanager
def nobody_uses(pool: Path) -> Iterator[None]:
    """Refuse to go on while a program has a pool open, guarded or not: PMDK holds a lock of the file while it has."""
    try:
        file = pool.open("r+b")
    except OSError as error:
        message = f"cannot change the pool {pool}: {error.strerror}."
        raise UsageError("pool-unwritable", message, "Nothing was changed.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = f"a program has the pool {pool} open."
            raise UsageError("pool-in-use", message, "Stop it first. Nothing was changed.") from error
        yield


@contextmanager
def _locked(path: Path, how: int, taken: str = "") -> Iterator[None]:
    try:
        lock = path.open("ab")
    except OSError as error:
        message = f"{path.parent} contains no checkpoint log: {error.strerror}."
        raise UsageError("no-guard-log", message, "Give its folder with --log.") from error
    with lock:
        try:
            fcntl.flock(lock, how)
        except BlockingIOError as error:
            message = taken or f"the service that writes the log {path.parent} is still running."
            raise UsageError("guard-running", message, "Stop it first. Nothing was changed.") from error
        yield

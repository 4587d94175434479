"""Changing the real pool, and back.

Before: patches that were tried on copies, and the operator's word. After: the pool holds them, durably; what it held
before lies in a file beside the log, written before the first byte of the pool was. Undoing writes that back, if the
pool still holds what healing left there.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from powercut.errors import UsageError
from powercut.heal.reversion import Patch, apply

_VERSION = 1


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


def change(log: Path, pool: Path, patches: Sequence[Patch]) -> Path:
    """Write patches into the pool; where the way back is kept."""
    number = 1 + max((int(path.stem.partition("-")[2]) for path in log.glob("heal-*.json")), default=0)
    way_back = log / f"heal-{number}.json"
    saved = {
        "version": _VERSION,
        "pool": str(pool),
        "patches": [[patch.offset, _text(patch.old), _text(patch.new)] for patch in patches],
    }
    with way_back.open("x") as file:
        json.dump(saved, file)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(log)
    apply(pool, patches)
    return way_back


def undo(way_back: Path) -> Path:
    """Write back what a pool held before it was healed; which pool."""
    pool, patches = _read(way_back)
    with pool.open("rb") as content:
        for patch in patches:
            content.seek(patch.offset)
            if content.read(len(patch.new)) != patch.new:
                message = f"{pool} has changed at byte {patch.offset} since it was healed: undoing would lose that."
                raise UsageError("heal-changed", message, "Nothing was changed.")
    apply(pool, [Patch(patch.offset, patch.new, patch.old) for patch in patches])
    return pool


def _read(way_back: Path) -> tuple[Path, list[Patch]]:
    try:
        saved = json.loads(way_back.read_text())
        if saved["version"] != _VERSION:
            raise ValueError(f"it is of version {saved['version']}")
        patches = [Patch(int(at), base64.b64decode(old), base64.b64decode(new)) for at, old, new in saved["patches"]]
        return Path(saved["pool"]), patches
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError("heal-undo", f"{way_back} cannot be read: {error}.", "Nothing was changed.") from error


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Changing the real pool, and undoing the change.

Before: patches that were tried on copies, and the operator's word. After: the pool holds them, durably; what it held
before lies in a file beside the log, written before the first byte of the pool was. Undoing writes that back, if the
pool still holds what healing left there; whatever cut healing or undoing short, it can be undone again.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from powercut.errors import UsageError
from powercut.guard.log_folder import nobody_uses
from powercut.heal.reversion import Patch, apply
from powercut.quick_dataclass import dataclass
from powercut.runs.store import write_durably

_VERSION = 1
_NAME = re.compile(r"heal-(\d+)\.json")


@dataclass(frozen=True, slots=True)
class _WayBack:
    """What was done to a pool; `stage` tells how far that went: a pool under way may hold the old and the new."""

    pool: Path
    patches: tuple[Patch, ...]
    stage: Literal["under way", "healed", "undone"]


def change(log: Path, pool: Path, patches: Sequence[Patch]) -> Path:
    """Write patches into the pool; where the way back is kept."""
    numbers = [int(match[1]) for path in log.iterdir() if (match := _NAME.fullmatch(path.name))]
    file = log / f"heal-{1 + max(numbers, default=0)}.json"
    way = _WayBack(pool, tuple(patches), "under way")
    _save(file, way)
    apply(pool, patches)
    _save(file, replace(way, stage="healed"))
    return file


def undo(file: Path) -> Path:
    """Write back what a pool held before it was healed; which pool."""
    way = _read(file)
    if way.stage == "undone":
        raise UsageError("heal-undone", f"{file} was already undone.", "Nothing was changed.")
    with nobody_uses(way.pool):
        _require_unchanged(way)
        _save(file, replace(way, stage="under way"))
        apply(way.pool, [Patch(patch.offset, patch.new, patch.old) for patch in way.patches])
        _save(file, replace(way, stage="undone"))
    return way.pool


def _require_unchanged(way: _WayBack) -> None:
    with way.pool.open("rb") as content:
        for patch in way.patches:
            now = os.pread(content.fileno(), len(patch.new), patch.offset)
            if now != patch.new and not (way.stage == "under way" and _is_mixed(now, patch)):
                message = f"{way.pool} has changed at byte {patch.offset} since it was healed. Undoing would lose that."
                raise UsageError("heal-changed", message, "Nothing was changed.")


def _is_mixed(now: bytes, patch: Patch) -> bool:
    """Whether each byte is as it was before, or as healing leaves it."""
    known = zip(now, patch.old, patch.new, strict=False)
    return len(now) == len(patch.new) and all(byte in (old, new) for byte, old, new in known)


def _save(file: Path, way: _WayBack) -> None:
    patches = [[patch.offset, _text(patch.old), _text(patch.new)] for patch in way.patches]
    saved = {"version": _VERSION, "pool": str(way.pool), "stage": way.stage, "patches": patches}
    write_durably(file, json.dumps(saved).encode())


def _read(file: Path) -> _WayBack:
    try:
        saved = json.loads(file.read_text())
        if saved["version"] != _VERSION:
            raise ValueError(f"it has version {saved['version']}")
        patches = [Patch(int(at), base64.b64decode(old), base64.b64decode(new)) for at, old, new in saved["patches"]]
        if any(len(patch.old) != len(patch.new) or patch.offset < 0 for patch in patches):
            raise ValueError("it is damaged")
        return _WayBack(Path(saved["pool"]), tuple(patches), saved["stage"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError("heal-undo", f"cannot read {file}: {why}.", "Nothing was changed.") from error


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")

"""Undoing updates: the content of a pool if some of its updates had never been made.

Before: the history of a pool, and records that shall not have been. After: the bytes to write so that it is so. A byte
that a later update wrote keeps what that one wrote; all others get the version before.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from powercut.guard.history import History
from powercut.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Patch:
    """Bytes of a file to be changed, and what stood there."""

    offset: int
    old: bytes
    new: bytes


def patches(history: History, file: Path, records: Collection[int]) -> list[Patch]:
    """What to write into a file so that some records never were."""
    taken = frozenset(records)
    found = []
    with file.open("rb") as content:
        for start, end in _merged(history, taken):
            content.seek(start)
            old, new = content.read(end - start), history.content(start, end, without=taken)
            if old != new:
                found.append(Patch(start, old, new))
    return found


def apply(file: Path, changes: Iterable[Patch]) -> None:
    """Write patches into a file, durably."""
    with file.open("r+b") as target:
        for patch in changes:
            target.seek(patch.offset)
            target.write(patch.new)
        target.flush()
        os.fsync(target.fileno())


def _merged(history: History, records: Collection[int]) -> Iterator[tuple[int, int]]:
    """The ranges that records cover, those that touch as one."""
    table = history.log.records
    spans = sorted((int(table["offset"][i]), int(table["offset"][i]) + int(table["size"][i])) for i in records)
    low = high = -1
    for start, end in spans:
        if start > high:
            if high >= 0:
                yield low, high
            low = start
        high = max(high, end) if start <= high else end
    if high >= 0:
        yield low, high

"""Reading a checkpoint log: what a guarded service made durable, in order.

Before: a folder as `native/runtime/guard/log_format.h` describes it, left by a service that ended in whatever way.
After: the records in the order of their sequence numbers, each with its data. Records that were cut short are not
there; of a folder that is no log, or one of another version, nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.errors import UsageError

MAGIC = b"PCGUARD\0"
VERSION = 2
SEGMENT_HEAD = np.dtype(
    [("magic", "S8"), ("version", "<u4"), ("size", "<u4"), ("number", "<u8"), ("salt", "<u4"), ("reserved", "V36")]
)
RECORD = np.dtype(
    [
        ("checksum", "<u4"),
        ("size", "<u4"),
        ("sequence", "<u8"),
        ("offset", "<u8"),
        ("site", "<u8"),
        ("transaction", "<u8"),
        ("time", "<u4"),
        ("thread", "<u2"),
        ("kind", "u1"),
        ("flags_pool", "u1"),
    ]
)
_SEGMENT = re.compile(r"([0-9]+)\.segment")
Array = npt.NDArray[Any]


class RecordKind(IntEnum):
    """What a record tells."""

    START = 1
    MODULE = 2
    POOL = 3
    UPDATE = 4
    FILL = 5
    FOUND = 6
    ALLOCATE = 7
    FREE = 8
    COMMIT = 9


class RecordFlag(IntFlag):
    """What is special about an update."""

    LIBRARY = 1
    RESTORE = 2
    CHANGES = 4
    FENCED = 8


CHANGES = (RecordKind.UPDATE, RecordKind.FILL, RecordKind.FOUND)


@dataclass(frozen=True, slots=True)
class Pool:
    """A guarded pool: its number in the log, its file, its size when it was first mapped, and what it held then.

    Attributes:
        record: the one that tells of it; what came before is of a pool whose record was lost.
    """

    number: int
    record: int
    path: Path
    size: int
    base: Path


class GuardLog:
    """All records of a log.

    Attributes:
        records: as `RECORD`, in order.
        pool_of: the number of each record's pool.
        is_library: which updates are PMDK's own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments: list[bytes] = []
        positions, records, owners = [], [np.empty(0, RECORD)], []
        for number, path in enumerate(_segments(folder)):
            content = _read(path)
            found = np.frombuffer(_engine.guard_records(content), np.uint64).astype(np.int64)
            self._segments.append(content)
            inside = np.frombuffer(content, np.uint8)
            heads = inside[found[:, None] + np.arange(RECORD.itemsize)] if len(found) else np.empty((0, 48), np.uint8)
            records.append(heads.reshape(-1).view(RECORD))
            positions.append(found + RECORD.itemsize)
            owners.append(np.full(len(found), number))
        if not self._segments:
            hint = "Was the service run by powercut guard?"
            raise UsageError("no-guard-log", f"{folder} holds no checkpoint log.", hint)
        together = np.concatenate(records)
        order = np.argsort(together["sequence"], kind="stable")
        self.records = together[order]
        self._positions = np.concatenate(positions)[order]
        self._owners: list[int] = np.concatenate(owners)[order].tolist()
        self.pool_of = self.records["flags_pool"] >> 4
        self.is_library = (self.records["flags_pool"] & RecordFlag.LIBRARY) != 0

    def __len__(self) -> int:
        return len(self.records)

    def data(self, index: int) -> bytes:
        """What a record carries; of a fill all of its bytes."""
        return self.part(index, 0, int(self.records["size"][index]))

    def part(self, index: int, low: int, high: int) -> bytes:
        """Some bytes of that."""
        segment, start = self._segments[self._owners[index]], int(self._positions[index])
        if self.records["kind"][index] == RecordKind.FILL:
            return segment[start : start + 1] * (high - low)
        return segment[start + low : start + high]

    def located(self, which: npt.NDArray[np.int64]) -> tuple[list[bytes], list[int], npt.NDArray[np.int64]]:
        """The segments; in which of them the data of records lie, and where."""
        return self._segments, [self._owners[index] for index in which.tolist()], self._positions[which]

    def of_kind(self, *kinds: RecordKind) -> npt.NDArray[np.int64]:
        """Which records are of some kinds."""
        return np.flatnonzero(np.isin(self.records["kind"], kinds))

    @property
    def pools(self) -> dict[int, Pool]:
        """All pools, by number."""
        found = {}
        for index in self.of_kind(RecordKind.POOL).tolist():
            number = int(self.pool_of[index])
            path = Path(self.data(index).decode("utf-8", "surrogateescape"))
            size, base = int(self.records["offset"][index]), self.folder / f"pool-{number}.base"
            found[number] = Pool(number, index, path, size, base)
        return found

    @property
    def next_numbers(self) -> tuple[int, int]:
        """The first segment and the first sequence number that are free."""
        last = max(int(match[1]) for path in self.folder.iterdir() if (match := _SEGMENT.fullmatch(path.name)))
        return last + 1, int(self.records["sequence"][-1]) + 1 if len(self.records) else 1


def require_log(folder: Path, hint: str) -> None:
    """Refuse a folder that holds no log, before anything is made there."""
    if next(_segments(folder), None) is None:
        raise UsageError("no-guard-log", f"{folder} holds no checkpoint log.", hint)


def _segments(folder: Path) -> Iterator[Path]:
    try:
        names = {int(match[1]): path for path in folder.iterdir() if (match := _SEGMENT.fullmatch(path.name))}
    except OSError as error:
        raise UsageError("no-guard-log", f"{folder} holds no checkpoint log: {error.strerror}.") from error
    return (names[number] for number in sorted(names))


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    head = np.frombuffer(content[: SEGMENT_HEAD.itemsize].ljust(SEGMENT_HEAD.itemsize, b"\0"), SEGMENT_HEAD)[0]
    if not any(content[: SEGMENT_HEAD.itemsize]):
        return content  # made, and the service ended before anything was in it
    if bytes(head["magic"]) != MAGIC.rstrip(b"\0"):
        raise UsageError("broken-guard-log", f"{path} is no segment of a checkpoint log.", "Nothing was changed.")
    if head["version"] != VERSION:
        raise UsageError(
            "guard-log-version",
            f"{path} is of version {head['version']} of the log, this powercut reads version {VERSION}.",
            "Use the powercut that wrote it. Nothing was changed.",
        )
    return content

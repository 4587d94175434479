"""Reading a checkpoint log: what a guarded service made durable, in order.

Before: a folder as `native/runtime/guard/log_format.h` describes it, left by a service that ended in whatever way.
After: the records in the order of their sequence numbers, each with its data. Records that were cut short are not
there; of a folder that is no log, or one of another version, nothing is read. While the log is read, the service may
write it, and it may be reclaimed (`guard/reclaim.py`); what it says of bases is true as long as that is not done later.
"""

from __future__ import annotations

import re
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.errors import UsageError
from powercut.quick_dataclass import dataclass

MAGIC = b"PCGUARD\0"
VERSION = 3
SEGMENT_HEAD = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("size", "<u4"),
        ("number", "<u8"),
        ("run", "<u8"),
        ("first", "<u8"),
        ("folded", "<u8"),
        ("state", "<u4"),
        ("salt", "<u4"),
        ("reserved", "V8"),
    ]
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
PLACED = np.dtype([("record", RECORD), ("position", "<i8")])  # and where its data stand
CHANGE = np.dtype(
    [
        ("record", "<i8"),
        ("offset", "<i8"),
        ("size", "<i8"),
        ("position", "<i8"),
        ("segment", "<u4"),
        ("who", "<u2"),
        ("fill", "<u2"),
    ]
)  # as the engine lays it over a pool
_SEGMENT = re.compile(r"([0-9]+)\.segment")
Array = npt.NDArray[Any]
Head = Any  # one `SEGMENT_HEAD`


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
    BASE = 10


class SegmentState(IntFlag):
    """What is known of a segment."""

    COMPLETE = 1
    COMPACTED = 2


class RecordFlag(IntFlag):
    """What is special about an update."""

    LIBRARY = 1
    RESTORE = 2
    CHANGES = 4
    FENCED = 8


CHANGES = (RecordKind.UPDATE, RecordKind.FILL, RecordKind.FOUND)


@dataclass(frozen=True, slots=True)
class Pool:
    """A guarded pool: its number in the log, its file, its size when it was first mapped, and the file of its base."""

    number: int
    path: Path
    size: int
    base: Path


class GuardLog:
    """All records of a log.

    Attributes:
        records: as `RECORD`, in order.
        pool_of: the number of each record's pool.
        is_library: which updates are PMDK's own.
        folded: the sequence number of the newest record that is not there any more, or not all of it; 0: all are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments: list[bytes] = []
        placed, owners = [np.empty(0, PLACED)], [np.empty(0, np.uint32)]
        self._bases: dict[int, tuple[npt.NDArray[np.int64], ...]] = {}
        self.folded = 0
        for number, (head, content) in enumerate(reversed(read_segments(folder))):
            self.folded = max(self.folded, int(head["folded"]))
            found = np.frombuffer(_engine.guard_records(content), PLACED)
            self._segments.append(content)
            placed.append(found)
            owners.append(np.full(len(found), number, np.uint32))
        if not self._segments:
            raise no_log(folder)
        together, self._owners = _in_order(np.concatenate(placed), np.concatenate(owners))
        self.records, self._positions = together["record"], together["position"]
        self.pool_of = self.records["flags_pool"] >> 4
        self.is_library = (self.records["flags_pool"] & RecordFlag.LIBRARY) != 0

    def __len__(self) -> int:
        return len(self.records)

    def data(self, index: int) -> bytes:
        """What a record carries; of a fill all of its bytes, of an object that comes or goes nothing."""
        if self.records["kind"][index] in (RecordKind.ALLOCATE, RecordKind.FREE):
            return b""
        return self.part(index, 0, int(self.records["size"][index]))

    def part(self, index: int, low: int, high: int) -> bytes:
        """Some bytes of that."""
        segment, start = self._segments[int(self._owners[index])], int(self._positions[index])
        if self.records["kind"][index] == RecordKind.FILL:
            return segment[start : start + 1] * (high - low)
        return segment[start + low : start + high]

    def located(self, which: npt.NDArray[np.int64]) -> tuple[list[bytes], Array, Array]:
        """The segments; in which of them the data of records lie, and where."""
        return self._segments, self._owners[which], self._positions[which]

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
            size = int(self.records["offset"][index])
            found[number] = Pool(number, path, size, base_in(self.folder, number))
        return found

    def record_of(self, pool: Pool) -> int:
        """The record that tells of a pool; what came before is of one whose record was lost."""
        told = self.of_kind(RecordKind.POOL)
        return int(told[self.pool_of[told] == pool.number][-1])

    def base_of(self, pool: Pool, start: int, end: int) -> bytes:
        """What a range of a pool held before all changes that the log tells."""
        with pool.base.open("rb") as file:
            file.seek(start)
            content = np.frombuffer(file.read(end - start).ljust(end - start, b"\0"), np.uint8).copy()
        self.lay_reclaimed(pool, content, start)
        return content.tobytes()

    def lay_reclaimed(self, pool: Pool, content: npt.NDArray[np.uint8], start: int) -> None:
        """Write over a range of a base, which begins at some byte, what it shall be."""
        end = start + len(content)
        records, starts, ends = self._reclaimed(pool.number)
        touched = slice(np.searchsorted(ends, start, "right"), np.searchsorted(starts, end))
        segments, owners, positions = self.located(records[touched])
        changes = np.zeros(len(owners), CHANGE)
        low, high = np.maximum(starts[touched], start), np.minimum(ends[touched], end)
        changes["segment"], changes["position"] = owners, positions + (low - starts[touched])
        changes["offset"], changes["size"] = low - start, high - low
        _engine.guard_authors(content, np.zeros(len(content) // 8 + 1, np.uint8), segments, changes.tobytes())

    def _reclaimed(self, number: int) -> tuple[npt.NDArray[np.int64], ...]:
        """Records of what the base of a pool shall be, by place, and where they start and end: they do not overlap."""
        if number not in self._bases:
            mine = self.of_kind(RecordKind.BASE)
            mine = mine[self.pool_of[mine] == number]
            mine = mine[np.argsort(self.records["offset"][mine])]
            starts = self.records["offset"][mine].astype(np.int64)
            self._bases[number] = mine, starts, starts + self.records["size"][mine].astype(np.int64)
        return self._bases[number]

    @property
    def next_numbers(self) -> tuple[int, int]:
        """The first segment and the first sequence number that are free."""
        return last_segment(self.folder) + 1, int(self.records["sequence"][-1]) + 1 if len(self.records) else 1


def base_in(folder: Path, number: int) -> Path:
    """Where a log keeps what a pool held at first."""
    return folder / f"pool-{number}.base"


def no_log(folder: Path) -> UsageError:
    """What is said of a folder without a log."""
    hint = "Was the service run by powercut guard?"
    return UsageError("no-guard-log", f"{folder} contains no checkpoint log.", hint)


def require_log(folder: Path, hint: str) -> None:
    """Refuse a folder that holds no log, before anything is made there."""
    if not segments_of(folder):
        raise UsageError("no-guard-log", f"{folder} contains no checkpoint log.", hint)


def segments_of(folder: Path) -> dict[int, Path]:
    """The files of the segments, by number, lowest first."""
    try:
        found = {int(match[1]): path for path in folder.iterdir() if (match := _SEGMENT.fullmatch(path.name))}
    except OSError as error:
        raise UsageError("no-guard-log", f"{folder} contains no checkpoint log: {error.strerror}.") from error
    return dict(sorted(found.items()))


def last_segment(folder: Path) -> int:
    """The number of the newest segment, 0: there is none."""
    return max(segments_of(folder), default=0)


def has_changes(segment: Path) -> bool:
    """Whether a segment tells of a change of a pool, or of nothing at all."""
    found = np.frombuffer(_engine.guard_records(segment.read_bytes()), PLACED)["record"]["kind"]
    return not len(found) or bool(np.isin(found, CHANGES).any())


def head_of(path: Path, content: bytes) -> Head:
    """The head of a segment; all zero if the service ended before it was written."""
    head: Head = np.frombuffer(content[: SEGMENT_HEAD.itemsize].ljust(SEGMENT_HEAD.itemsize, b"\0"), SEGMENT_HEAD)[0]
    if not any(head.tobytes()):
        return head
    if bytes(head["magic"]) != MAGIC.rstrip(b"\0"):
        raise UsageError("broken-guard-log", f"{path} is not a segment of a checkpoint log.", "Nothing was changed.")
    if not head["version"]:  # a power cut took all but the magic: nothing was logged there yet
        return np.zeros((), SEGMENT_HEAD)[()]
    if head["version"] != VERSION:
        raise UsageError(
            "guard-log-version",
            f"{path} has log version {head['version']}, but this powercut reads version {VERSION}.",
            "Use the version of powercut that wrote it. Nothing was changed.",
        )
    return head


def _in_order(placed: Array, owners: Array) -> tuple[Array, Array]:
    """Records by their sequence numbers, and the segment of each; those of one thread are so already."""
    numbers = placed["record"]["sequence"]
    if (numbers[1:] > numbers[:-1]).all():
        return placed, owners
    order = np.argsort(numbers, kind="stable")
    return placed[order], owners[order]


def read_segments(folder: Path) -> list[tuple[Head, bytes]]:
    """All segments that count: from the newest back to a compacted one."""
    found = []
    for path in reversed(segments_of(folder).values()):
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # a compacted one has taken its place since the folder was listed
            return read_segments(folder)
        found.append((head_of(path, content), content))
        if found[-1][0]["state"] & SegmentState.COMPACTED:
            break
    return found

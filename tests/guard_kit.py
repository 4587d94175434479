"""Checkpoint logs made by hand, and a plain account of the versions that each byte of a pool had."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from powercut.guard.history import History
from powercut.guard.log import CHANGES, MAGIC, RECORD, SEGMENT_HEAD, VERSION, GuardLog, RecordKind, SegmentState
from powercut.guard.writing import sealed

SALT = 0x5EED
GROUP = 11  # the kind of a record that holds others
POOLLESS = (RecordKind.START, RecordKind.MODULE, RecordKind.COMMIT)
DATALESS = (RecordKind.ALLOCATE, RecordKind.FREE, RecordKind.COMMIT)


@dataclass(frozen=True, slots=True)
class Made:
    """A record as the library would write it."""

    sequence: int
    kind: RecordKind
    offset: int
    data: bytes  # of a fill all of its bytes, of an object as many as it has
    site: int = 0
    transaction: int = 0
    time: int = 0
    thread: int = 1
    pool: int = 1

    def to_bytes(self) -> bytes:
        """As it stands in a segment."""
        head = np.zeros((), RECORD)
        head["size"], head["sequence"], head["offset"] = len(self.data), self.sequence, self.offset
        head["site"], head["transaction"] = self.site, self.transaction
        head["time"], head["thread"] = self.time, self.thread
        head["kind"], head["flags_pool"] = self.kind, 0 if self.kind in POOLLESS else self.pool << 4
        return sealed(head, self.written, SALT)

    @property
    def written(self) -> bytes:
        """The bytes behind its head."""
        return b"" if self.kind in DATALESS else self.data[:1] if self.kind == RecordKind.FILL else self.data


def group_of(members: Sequence[Made]) -> bytes:
    """Records of one thread as the library writes them at once, with the numbers from that of the first on."""
    first, content = members[0], b""
    last = (first.offset, first.site, first.transaction)
    for made in members:
        words = (made.offset, made.site, made.transaction)
        has = sum(1 << i for i in range(3) if words[i] != last[i])
        flags_pool = 0 if made.kind in POOLLESS else made.pool << 4
        content += struct.pack("<IBBBx", len(made.data), made.kind, flags_pool, has)
        content += b"".join(word.to_bytes(8, "little") for i, word in enumerate(words) if has >> i & 1)
        content += made.written.ljust(-len(made.written) // 8 * -8, b"\0")
        last = words
    head = np.zeros((), RECORD)
    head["size"], head["sequence"], head["kind"] = len(content), first.sequence, GROUP
    head["offset"], head["site"], head["transaction"] = first.offset, first.site, first.transaction
    head["time"], head["thread"] = first.time, first.thread
    return sealed(head, content, SALT)


def write_segment(
    folder: Path, number: int, records: Iterable[Made], *, complete: bool = True, first: int = 1, size: int = 0
) -> None:
    """A segment as the library leaves it, with zeros up to a size."""
    content = b"".join(record.to_bytes() for record in records)
    state = SegmentState.COMPLETE if complete else 0
    head = np.array((MAGIC, VERSION, 0, number, 1, first, 0, state, SALT, b""), SEGMENT_HEAD)
    (folder / f"{number}.segment").write_bytes((head.tobytes() + content).ljust(size, b"\0"))


def size_of(folder: Path) -> int:
    """Bytes of all segments."""
    return sum(path.stat().st_size for path in folder.glob("*.segment"))


Version = tuple[int, int, int, int, int, int]  # sequence, value, site, transaction, time, thread


@dataclass(slots=True)
class Truth:
    """All that ever happened to a pool, byte by byte; nothing is a version that leaves a byte as it was.

    Unless nobody is known to have written it before.
    """

    base: bytes
    versions: dict[int, list[Version]] = field(default_factory=dict)  # newest first
    _known: set[int] = field(default_factory=set)  # bytes of which is known who wrote them

    def add(self, records: Iterable[Made]) -> None:
        """Further records, newer than all before, in any order."""
        for made in sorted(records, key=lambda made: made.sequence):
            if made.kind == RecordKind.FREE:
                self._known -= set(range(made.offset, made.offset + len(made.data)))
            if made.kind in CHANGES:
                for at, value in enumerate(made.data, made.offset):
                    self._add_byte(made, at, value)

    def _add_byte(self, made: Made, at: int, value: int) -> None:
        own, versions = made.kind != RecordKind.FOUND, self.versions.get(at, [])
        now = versions[0][1] if versions else self.base[at]
        if now == value and (at in self._known or not own):
            return
        (self._known.add if own else self._known.discard)(at)
        version = (made.sequence, value, made.site, made.transaction, made.time, made.thread)
        self.versions[at] = [version, *versions]

    def wrong(self, folder: Path, keep: int) -> list[str]:
        """Bytes of which a log does not tell the newest versions, or not what was before them."""
        told, problems = told_by(folder), []
        for at in range(len(self.base)):
            has, had = told.versions.get(at, []), self.versions.get(at, [])
            if has[:keep] != had[:keep]:
                problems.append(f"byte {at}: {has} of {had}")
            if told.before(at, keep) != self.before(at, keep):
                problems.append(f"byte {at}: {told.before(at, keep)} before all, not {self.before(at, keep)}")
        return problems

    def before(self, at: int, keep: int) -> int:
        """What a byte was before its newest versions."""
        older = self.versions.get(at, [])[keep:]
        return older[0][1] if older else self.base[at]

    def content(self, keep: int, without: frozenset[int] = frozenset()) -> bytes:
        """What the pool holds if some sequence numbers had never been; only the newest versions can be taken back."""
        content = bytearray(self.base)
        for at, versions in self.versions.items():
            left = [version for version in versions[:keep] if version[0] not in without] + versions[keep:]
            content[at] = left[0][1] if left else self.base[at]
        return bytes(content)


def told_by(folder: Path) -> Truth:
    """What a log tells of pool 1."""
    log = GuardLog(folder)
    told = Truth(log.base_of(log.pools[1], 0, log.pools[1].size))
    names = ("site", "transaction", "time", "thread")
    told.add(
        Made(
            int(row["sequence"]),
            RecordKind(row["kind"]),
            int(row["offset"]),
            log.data(index) if row["kind"] in CHANGES else bytes(row["size"]),
            *(int(row[name]) for name in names),
        )
        for index, row in enumerate(log.records)
    )
    return told


def history_of(folder: Path) -> History:
    """The history of pool 1."""
    log = GuardLog(folder)
    return History(log, log.pools[1])


def start_of_log(folder: Path, base: bytes) -> list[Made]:
    """The base of pool 1, and the records of a program that maps it."""
    (folder / "pool-1.base").write_bytes(base)
    return [
        Made(1, RecordKind.START, 0, b"/service"),
        Made(2, RecordKind.MODULE, 0x1000, b"/service"),
        Made(3, RecordKind.POOL, len(base), str(folder / "pool").encode()),
    ]

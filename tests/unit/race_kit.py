"""Traces of race mode, made by hand: threads that store, flush, fence and load, in one pool."""

from __future__ import annotations

import struct

from powercut.model.filesystem import DEFAULT, file_systems
from powercut.states.timeline import Timeline
from powercut.trace.layout import Effect, Fence, Flush, Kind, MemoryKind, Order, TableKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

POOL, INODE, SIZE = b"pool", 501, 4096
FILE = 1
NATIVE = 1


class RaceTrace:
    """Writes a trace of one process; each call is one record, by a thread, at a line of a made-up program."""

    def __init__(self, content: bytes = b"") -> None:
        self._writer = TraceWriter()
        self._writer.meta("tracer", b"grind")
        self._writer.meta("command", b"./store")
        self._writer.meta("dir", b"/data")
        self._writer.event(Kind.SNAP_DIR, path=b"", inode=500, extra=0o40755, pid=0)
        self._writer.event(Kind.SNAP_FILE, path=POOL, inode=INODE, length=SIZE, extra=0o100644, pid=0)
        if content:
            self._writer.event(Kind.SNAP_DATA, inode=INODE, data=content, pid=0)
        self._module = self._writer.entry(TableKind.MODULE, b"/no/such/store\0")
        self._stacks: dict[int, int] = {}
        self._records: list[tuple[int, int, int, int, int, int]] = []
        self._named = False
        self._candidates = 0

    def store(self, thread: int, offset: int, value: int, line: int = 0, size: int = 8, how: str = "") -> None:
        """A store: plain, `nontemporal` or `locked`."""
        kind = MemoryKind[f"STORE_{how.upper()}" if how else "STORE"]
        self._add(thread, (value, offset, self._stack(line), FILE, kind, size))

    def rest(self, thread: int, offset: int, value: int) -> None:
        """A further word of the store before."""
        self._add(thread, (value, offset, 0, FILE, MemoryKind.STORE | MemoryKind.REST, 8))

    def flush(self, thread: int, offset: int, how: Flush = Flush.CLWB) -> None:
        self._add(thread, (0, offset, 0, FILE, MemoryKind.FLUSH, how))

    def fence(self, thread: int) -> None:
        self._add(thread, (0, 0, 0, 0, MemoryKind.FENCE, Fence.SFENCE))

    def persist(self, thread: int, offset: int) -> None:
        self.flush(thread, offset)
        self.fence(thread)

    def candidate(self, thread: int, offset: int, line: int = 0, size: int = 8) -> int:
        """A load of what is not guaranteed; its number."""
        self._candidates += 1
        self._add(thread, (self._candidates, offset, self._stack(line), FILE, MemoryKind.CANDIDATE, size))
        return self._candidates

    def effect(self, thread: int, candidate: int, how: Effect = Effect.VALUE) -> None:
        """The store before depends on a candidate; with OUTPUT, the next call."""
        self._add(thread, (candidate, 0, 0, 0, MemoryKind.EFFECT, how))

    def order(self, thread: int, offset: int, what: Order = Order.LOCK) -> None:
        self._add(thread, (offset, offset, 0, FILE, MemoryKind.ORDER, what))

    def declare(self, offset: int, size: int, initial: int) -> None:
        """The program says that a word is a lock."""
        self._add(1, (initial, offset, 0, FILE, MemoryKind.ORDER, Order.SYNC_VAR + size))

    def call(self, kind: Kind, **fields: object) -> None:
        self._end_run()
        self._writer.event(kind, **fields)  # type: ignore[arg-type]

    def trace(self) -> Trace:
        self._end_run()
        return self._writer.trace()

    def timeline(self, memory: str = "px86") -> Timeline:
        return Timeline(self.trace(), file_systems(DEFAULT, memory)[0])

    def _add(self, thread: int, record: tuple[int, int, int, int, int, int]) -> None:
        self._records.append((thread, 0, 0, 0, MemoryKind.THREAD, 0))
        if not self._named:
            self._records.append((INODE, 0, 0, FILE, MemoryKind.FILE, 0))
            self._named = True
        self._records.append(record)

    def _end_run(self) -> None:
        if self._records:
            self._writer.memory(self._records)
            self._records = []

    def _stack(self, line: int) -> int:
        if not line:
            return 0
        if line not in self._stacks:
            frame = struct.pack("<IIQ", NATIVE, self._module, line)
            self._stacks[line] = self._writer.entry(TableKind.STACK, frame)
        return self._stacks[line]

"""Writing a trace from Python: for tests, converters and experiments. The tracers write theirs in C.

The whole trace is kept in memory and laid out as one blob extent, one table extent and one event extent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powercut.trace.layout import (
    ENTRY,
    EVENT,
    EXTENT_HEADER_SIZE,
    EXTENT_MAGIC,
    HEADER_SIZE,
    MEMORY,
    TRACE_MAGIC,
    TRACE_VERSION,
    ExtentKind,
    Kind,
    TableKind,
)
from powercut.trace.reader import Trace


def _extent(kind: ExtentKind, payload: bytes) -> bytes:
    capacity = -(-len(payload) // 64) * 64
    header = np.array([EXTENT_MAGIC, kind], "<u4").tobytes() + np.array([capacity, len(payload)], "<u8").tobytes()
    return header.ljust(EXTENT_HEADER_SIZE, b"\0") + payload.ljust(capacity, b"\0")


class TraceWriter:
    """Collects events and lays them out as a trace."""

    def __init__(self) -> None:
        self._blobs = bytearray()
        self._entries: list[tuple[int, int, int, int, int]] = []
        self._events: list[tuple[int, ...]] = []
        self._counts: dict[TableKind, int] = {}
        self._strings: dict[bytes, int] = {}

    def blob(self, data: bytes) -> int:
        """Store bytes; their offset in the file."""
        self._blobs.extend(b"\0" * (-len(self._blobs) % 8))
        offset = HEADER_SIZE + EXTENT_HEADER_SIZE + len(self._blobs)
        self._blobs.extend(data)
        return offset

    def entry(self, kind: TableKind, data: bytes) -> int:
        """Intern something; its id within its kind."""
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        self._entries.append((kind, number, self.blob(data), len(data), 0))
        return number

    def string(self, text: bytes) -> int:
        """Intern a path or name."""
        if text not in self._strings:
            self._strings[text] = self.entry(TableKind.STRING, text)
        return self._strings[text]

    def event(
        self,
        kind: Kind,
        *,
        flags: int = 0,
        inode: int = 0,
        offset: int = 0,
        length: int | None = None,
        data: bytes | None = None,
        extra: int = 0,
        path: bytes | None = None,
        path2: bytes | None = None,
        stack: int = 0,
        pid: int = 1,
        tid: int | None = None,
    ) -> int:
        """Append an event; its index. The length of data is taken from it."""
        where = self.blob(data) if data else 0
        size = length if length is not None else len(data or b"")
        names = [0 if name is None else self.string(name) for name in (path, path2)]
        ids = (pid, pid if tid is None else tid, stack)
        self._events.append((kind, flags, *ids, inode, offset, size, where, extra, *names))
        return len(self._events) - 1

    def memory(self, records: Sequence[tuple[int, int, int, int, int, int]], *, pid: int = 1, tid: int = 1) -> None:
        """Append a run of memory records: (value, offset, stack, file, kind, size)."""
        self.event(Kind.MEMORY, data=np.array(records, MEMORY).tobytes(), pid=pid, tid=tid)

    def meta(self, key: str, value: bytes) -> None:
        """Say something about the whole run."""
        self.entry(TableKind.META, key.encode() + b"\0" + value)

    def to_bytes(self) -> bytes:
        """The file's content."""
        sizes = np.array([TRACE_VERSION, HEADER_SIZE, EVENT.itemsize, ENTRY.itemsize], "<u4").tobytes()
        head = (TRACE_MAGIC + sizes).ljust(HEADER_SIZE, b"\0")
        table = np.array(self._entries, ENTRY).tobytes()
        events = np.array(self._events, EVENT).tobytes()
        return (
            head
            + _extent(ExtentKind.BLOBS, bytes(self._blobs))
            + _extent(ExtentKind.TABLE, table)
            + _extent(ExtentKind.EVENTS, events)
        )

    def trace(self, name: str = "<memory>") -> Trace:
        """The finished trace, without a file."""
        self.meta("exit", b"exited 0")
        return Trace(self.to_bytes(), name)

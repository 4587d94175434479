"""Adding to a finished trace: metadata, such as the folder that it stands for, and what the folder held before.

The format says that the last word on a key holds, and that a snapshot may stand behind all other events. So nothing is
rewritten: extents with the bytes, the interned entries and the events go behind the last extent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from powercut.trace.layout import (
    ENTRY,
    EVENT,
    EXTENT_HEADER,
    EXTENT_HEADER_SIZE,
    EXTENT_MAGIC,
    HEADER_SIZE,
    ExtentKind,
    TableKind,
)
from powercut.trace.reader import Trace


def add_meta(path: Path, words: dict[str, bytes]) -> Trace:
    """Set words of a trace in its file; the trace as it is now."""
    with Appendix(path) as appendix:
        for key, value in words.items():
            appendix.meta(key, value)
    return Trace.open(path)


class Appendix:
    """What is added to one trace. Bytes are written at once, so that nothing large is held in memory."""

    def __init__(self, path: Path) -> None:
        trace = Trace.open(path, opened=False)
        self._known = {kind: len(trace.table(kind)) for kind in TableKind}
        self._path = path
        self._entries: list[tuple[int, ...]] = []
        self._events: list[tuple[Any, ...]] = []

    def __enter__(self) -> Appendix:
        end = _end(self._path)
        self._file = open(self._path, "r+b")
        self._file.seek(end)
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        try:
            if failed is None:
                self._write(ExtentKind.TABLE, np.array(self._entries, ENTRY).tobytes())
                if self._events:
                    self._write(ExtentKind.EVENTS, np.array(self._events, EVENT).tobytes())
                self._file.truncate(self._used)
        finally:
            self._file.close()

    def blob(self, data: bytes) -> int:
        """Add bytes; where they are in the file."""
        return self._write(ExtentKind.BLOBS, data)

    def string(self, text: bytes) -> int:
        """Add a path or a name; its id."""
        return self._entry(TableKind.STRING, text)

    def meta(self, key: str, value: bytes) -> None:
        """Set a word."""
        self._entry(TableKind.META, key.encode() + b"\0" + value)

    def event(self, **fields: int) -> None:
        """Add an event."""
        self._events.append(tuple(fields.get(name, 0) for name in EVENT.names or ()))

    def _entry(self, kind: TableKind, data: bytes) -> int:
        self._known[kind] += 1
        self._entries.append((kind, self._known[kind], self.blob(data), len(data), 0))
        return self._known[kind]

    def _write(self, kind: ExtentKind, payload: bytes) -> int:
        """Write an extent; where what it holds begins."""
        capacity = -(-len(payload) // 64) * 64
        header = np.array([(EXTENT_MAGIC, kind, capacity, len(payload), b"")], EXTENT_HEADER)
        self._file.write(header.tobytes())
        start = self._file.tell()
        self._used = start + len(payload)
        self._file.write(payload.ljust(capacity, b"\0"))
        return start


def _end(path: Path) -> int:
    """Where the next extent would start; the file may be shorter, the rest being reserved."""
    content = np.memmap(path, np.uint8, "r")
    position = HEADER_SIZE
    while position + EXTENT_HEADER_SIZE <= len(content):
        header = content[position : position + EXTENT_HEADER_SIZE].view(EXTENT_HEADER)[0]
        position += EXTENT_HEADER_SIZE + int(header["capacity"])
    return position

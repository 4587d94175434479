"""Adding metadata to a finished trace, such as the folder that it stands for.

The format says that the last word on a key holds, so nothing is rewritten: an extent with the words and one with the
entry that points at them go behind the last extent.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from powercut.trace.layout import (
    ENTRY,
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
    number = len(Trace.open(path).table(TableKind.META)) + 1
    end = _end(path)
    content = b""
    entries: list[tuple[int, ...]] = []
    for key, value in words.items():
        word = key.encode() + b"\0" + value
        entries.append((TableKind.META, number + len(entries), end + EXTENT_HEADER_SIZE + len(content), len(word), 0))
        content += word.ljust(-(-len(word) // 8) * 8, b"\0")
    with open(path, "r+b") as file:
        file.seek(end)
        file.write(_extent(ExtentKind.BLOBS, content))
        file.write(_extent(ExtentKind.TABLE, np.array(entries, ENTRY).tobytes()))
    return Trace.open(path)


def _end(path: Path) -> int:
    """Where the next extent would start; the file may be shorter, the rest being reserved."""
    content = np.memmap(path, np.uint8, "r")
    position = HEADER_SIZE
    while position + EXTENT_HEADER_SIZE <= len(content):
        header = content[position : position + EXTENT_HEADER_SIZE].view(EXTENT_HEADER)[0]
        position += EXTENT_HEADER_SIZE + int(header["capacity"])
    return position


def _extent(kind: ExtentKind, payload: bytes) -> bytes:
    capacity = -(-len(payload) // 64) * 64
    header = np.array([(EXTENT_MAGIC, kind, capacity, len(payload), b"")], EXTENT_HEADER)
    return header.tobytes() + payload.ljust(capacity, b"\0")

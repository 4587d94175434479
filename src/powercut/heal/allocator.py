"""Which bytes of a pool are the allocator's own: the heap's headers, those of its chunks, the bitmaps of its runs.

Before: the history of a pool. After: for any update, whether it wrote nothing else. Such updates are never taken back
one by one: an object that is in use would count as free, and be given away again.

The layout is that of libpmemobj (src/libpmemobj/heap_layout.h), which has been the same since pools have version 6.
Pools of others have no allocator that is known here.
"""

from __future__ import annotations

import numpy as np

from powercut.guard.history import History

_HEAP_HEAD = 1024
_ZONE_HEAD = 64
_MOST_CHUNKS = 65528  # of a zone
_CHUNK = 256 << 10
_ZONE = _ZONE_HEAD + 8 * _MOST_CHUNKS + _MOST_CHUNKS * _CHUNK
_CHUNK_HEAD = np.dtype([("type", "<u2"), ("flags", "<u2"), ("chunks", "<u4")])
_RUN = 4  # the type of a chunk that is cut into blocks of one size
_FLEXIBLE = 8  # a flag: the bitmap has as many bits as there are blocks
_RUN_HEAD = 16  # bytes: the size of a block, and how they are aligned
_RUN_META = 320  # bytes of head and bitmap, if it is not flexible


class Allocator:
    """The allocator of one pool."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._heap = history.private.stop

    def owns(self, record: int) -> bool:
        """Whether a change wrote nothing but the allocator's notes."""
        if not self._heap:
            return False
        row = self._history.log.records[record]
        start, end = int(row["offset"]), int(row["offset"]) + int(row["size"])
        if end <= self._heap + _HEAP_HEAD:
            return True
        zone = self._heap + _HEAP_HEAD + (start - self._heap - _HEAP_HEAD) // _ZONE * _ZONE
        chunks = zone + _ZONE_HEAD + 8 * _MOST_CHUNKS
        if end <= chunks:
            return start >= zone
        number = (start - chunks) // _CHUNK
        return end <= chunks + number * _CHUNK + self._notes(chunks, number)

    def _notes(self, chunks: int, number: int) -> int:
        """How many bytes at the start of a chunk are the allocator's."""
        at = chunks - 8 * (_MOST_CHUNKS - number)
        head = np.frombuffer(self._history.content(at, at + 8), _CHUNK_HEAD)[0]
        if head["type"] != _RUN:
            return 0
        if not head["flags"] & _FLEXIBLE:
            return _RUN_META
        start = chunks + number * _CHUNK
        block = int.from_bytes(self._history.content(start, start + 8), "little") or _CHUNK
        blocks = (int(head["chunks"]) * _CHUNK - _RUN_HEAD) // block
        words = _RUN_HEAD // 8 + -(-blocks // 64)
        return -(-words // 8) * 64

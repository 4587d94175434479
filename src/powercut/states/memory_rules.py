"""The rules of mapped memory: how stores, flushes and fences become updates, order and guarantees.

Before: the events of a trace, and the memory row of each mapped file. After: updates of at most 8 bytes, in which

  M1  the stores to one cache line of persistent memory persist in program order (and with writes to the same line);
      stores into the page cache persist in program order within one block, as writes do (R1);
  M2  clflush guarantees all stores to its line;
  M3  clflushopt and clwb guarantee all earlier stores to their line at the next fence of the same thread;
  M4  a non-temporal store is guaranteed at the next fence of its thread; sfence, mfence and locked instructions are
      fences;
  M5  where the cache survives (eADR), stores persist in program order, each before the program goes on; non-temporal
      ones as in M4;
  M6  fsync of a file guarantees its stores; msync those in its pages (and the file's sizes and truncates);
  M7  a store to persistent memory happens after the file's size, truncates and names are durable: the mapping of
      persistent memory (MAP_SYNC) sees to that at the page fault;
  M8  a rename over an existing name (R6) does not wait for stores to persistent memory.

`tests/models/memory_twin.py` states the same rules a second time, independently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

import numpy as np

from powercut.model.memory import AUTO, LINE, PAGE_CACHE, PX86, Memory
from powercut.trace.layout import Flush, Kind
from powercut.trace.reader import Trace


def media(trace: Trace, wanted: Memory) -> Mapping[int, Memory]:
    """The memory row of every inode that the program stored to.

    On its own, powercut goes by what the program does: cache lines that are flushed are persistent memory; files that
    are synced by msync are not; of the rest, all are persistent memory if the program flushes lines anywhere.
    """
    stored = _inodes(trace, Kind.STORE)
    if wanted is not AUTO:
        return dict.fromkeys(stored, wanted)
    flushed, synced = _inodes(trace, Kind.FLUSH), _inodes(trace, Kind.MSYNC)
    rest = PX86 if flushed else PAGE_CACHE
    return {i: PX86 if i in flushed else PAGE_CACHE if i in synced else rest for i in stored}


def _inodes(trace: Trace, kind: Kind) -> set[int]:
    return set(np.unique(trace.events["inode"][trace.of_kind(kind)]).tolist())


class Caches:
    """What the processors' caches and buffers still hold back, line by line and thread by thread."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, int]] = {}  # object -> line -> its last update
        self._on_their_way: dict[int, list[int]] = defaultdict(list)  # thread -> guaranteed at its next fence

    @property
    def objects(self) -> Set[int]:
        """All that is persistent memory."""
        return self._lines.keys()

    def manage(self, obj: int) -> None:
        """From now on an object is persistent memory."""
        self._lines.setdefault(obj, {})

    def manages(self, obj: int) -> bool:
        """Whether an object is persistent memory."""
        return obj in self._lines

    def follow(self, obj: int, start: int, length: int, update: int) -> list[int]:
        """Let an update be the last one of the lines it touches; the updates that were it before (M1)."""
        lines = self._lines[obj]
        before: list[int] = []
        for line in range(start // LINE, (start + length - 1) // LINE + 1):
            last = lines.get(line)
            if last is not None and last not in before:
                before.append(last)
            lines[line] = update
        return before

    def flush(self, obj: int, offset: int, thread: int, how: int) -> list[int]:
        """What a flush guarantees at once (M2); the rest is on its way (M3)."""
        last = self._lines.get(obj, {}).get(offset // LINE)
        if last is None:
            return []
        if how == Flush.CLFLUSH:
            return [last]
        self._on_their_way[thread].append(last)
        return []

    def bypass(self, update: int, thread: int) -> None:
        """A non-temporal store is on its way at once (M4)."""
        self._on_their_way[thread].append(update)

    def fence(self, thread: int) -> list[int]:
        """What a fence guarantees (M3, M4)."""
        return self._on_their_way.pop(thread, [])

    def last_updates(self, obj: int, start: int = 0, end: int | None = None) -> Iterable[int]:
        """The last update of each line of an object, or of those in a range (M6)."""
        lines = self._lines.get(obj, {})
        if end is None:
            return lines.values()
        return [update for line, update in lines.items() if start < (line + 1) * LINE and line * LINE < end]

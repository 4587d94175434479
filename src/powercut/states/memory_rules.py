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
      persistent memory (MAP_SYNC) sees to that at the page fault.

M1 to M5 are applied by `native/engine/chains.c`, run by run; the rest by `rules.py`.

`tests/models/memory_twin.py` states the same rules a second time, independently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from powercut.arrays import among
from powercut.model.memory import AUTO, PAGE_CACHE, PX86, Memory
from powercut.trace.layout import PID, Kind, MemoryKind, Record
from powercut.trace.reader import Trace

_STORES = (
    MemoryKind.STORE,
    MemoryKind.STORE_NONTEMPORAL,
    MemoryKind.STORE_LOCKED,
    MemoryKind.STORE_KERNEL,
)
_STORING = (*_STORES, *(kind | MemoryKind.REST for kind in _STORES))


def media(trace: Trace, wanted: Memory) -> Mapping[int, Memory]:
    """The memory row of every inode that the program stored to.

    On its own, powercut goes by what the program does: cache lines that are flushed are persistent memory; files that
    are synced by msync are not; of the rest, all are persistent memory if the program flushes lines anywhere.
    """
    stored = trace.inodes(Kind.STORE)
    if wanted is not AUTO or not stored:
        return dict.fromkeys(stored, wanted)
    flushed, synced = trace.inodes(Kind.FLUSH) - {0}, trace.inodes(Kind.MSYNC)  # 0: ordinary memory
    rest = PX86 if flushed else PAGE_CACHE
    return {i: PX86 if i in flushed else PAGE_CACHE if i in synced else rest for i in stored}


class MappedFiles:
    """Which file a number in memory records means, process by process."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._inodes: dict[int, dict[int, int]] = defaultdict(dict)

    def in_run(self, event: Record) -> dict[int, int]:
        """The files that the process of a run has mapped by its end: number -> inode."""
        records = self._trace.run(event)
        inodes = self._inodes[event[PID]]
        for record in records[(records["kind"] == MemoryKind.FILE) & (records["value"] != 0)]:  # 0: ordinary memory
            inodes[int(record["file"])] = int(record["value"])
        return inodes

    def first_store(self, event: Record, number: int, size: int) -> int | None:
        """The first record of a run that stores into a file, before its end."""
        records = self._trace.run(event)
        stores = among(records["kind"], _STORING) & (records["file"] == number) & (records["offset"] < size)
        found = np.flatnonzero(stores)
        return int(found[0]) if len(found) else None


def flags_of(medium: Memory) -> int:
    """A memory row as `_engine.Chains.run` knows it."""
    return (1 if medium.persistent else 0) | (2 if medium.cache_survives else 0)

"""Random runs whose events have random call stacks and threads: for what looks at where a program did something."""

from __future__ import annotations

import random

import numpy as np

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.timeline import Timeline
from powercut.trace.layout import FRAME, MEMORY, Kind, MemoryKind, TableKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter
from tests.models.brute_force import World
from tests.models.random_runs import KINDS, MEMORY_KINDS, RunMaker, _event

ROWS = ["ext4-ordered", "btrfs", "posix"]


class StackedWriter(TraceWriter):
    """Gives every event a random call stack and thread."""

    def __init__(self, seed: int, threads: int) -> None:
        super().__init__()
        self._random, self._threads = random.Random(seed), threads
        self.entry(TableKind.MODULE, b"/bin/program\0")
        for _ in range(8):
            depth = self._random.randint(1, 4)
            frames = [(1, 1, self._random.randint(1, 2) + 10 * level) for level in range(depth)]
            self.entry(TableKind.STACK, np.array(frames[::-1], FRAME).tobytes())

    def event(self, kind: Kind, **fields: object) -> int:  # type: ignore[override]
        if kind > Kind.SNAP_OTHER and kind != Kind.MEMORY:
            fields |= {"stack": self._random.randint(0, 8), "tid": self._random.randint(1, self._threads)}
        return super().event(kind, **fields)  # type: ignore[arg-type]

    def memory(self, records: list, *, pid: int = 1, tid: int = 1) -> None:  # type: ignore[override,type-arg]
        stack = self._random.randint(0, 8)
        table = np.array(records, MEMORY)
        table["stack"] = np.where(table["kind"] >= MemoryKind.STORE, stack, 0)
        super().memory(table.tolist(), pid=pid, tid=tid)


def random_trace(seed: int, memory: bool, length: int = 12, threads: int = 2) -> Trace:
    writer, world = StackedWriter(seed, threads), World()
    writer.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
    maker = RunMaker(seed, MEMORY_KINDS if memory else KINDS)
    for number, op in enumerate(maker.make(length)):
        _event(writer, world, op)
        if number % 5 == 4:
            writer.event(Kind.OUTPUT, data=b"said", extra=1)
    return writer.trace()


def random_timeline(seed: int, memory: bool, length: int = 12, threads: int = 2) -> Timeline:
    return Timeline(random_trace(seed, memory, length, threads), FILE_SYSTEMS[ROWS[seed % 3]])

"""The trace analysis of a large memory trace: how many events a second, and that its memory does not grow with them.

The trace is that of a busy persistent index, made by numpy: each operation stores into two neighbouring lines of a
pool (five stores), flushes both and fences; one in 16 has a flush too many. Memory is the peak of a fresh process less
that of one that only imports the same modules, for a trace and one three times as long over the same pool.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from kit import HERE, Row, at_least, at_most, run, workspace
from large_trace import peak_memory
from synthetic import write_extent, write_head

from powercut.lint.analysis import analyse
from powercut.model.memory import AUTO
from powercut.trace.layout import (
    ENTRY,
    EVENT,
    EXTENT_HEADER_SIZE,
    FRAME,
    HEADER_SIZE,
    MEMORY,
    ExtentKind,
    Fence,
    Flush,
    Kind,
    MemoryKind,
    TableKind,
)
from powercut.trace.reader import Trace

RECORDS = 24_000_000
LINES = 1 << 18  # of the pool: 16 MB
POOL, STACKS = 7, 64
WANTED = 20e6  # events a second
RUN = 1 << 20  # records in a run
TURNS = 3
# kind, offset in the two lines, size; file 1 but for the fence
OPERATION = (
    (MemoryKind.STORE, 0, 8),
    (MemoryKind.STORE, 8, 8),
    (MemoryKind.STORE, 16, 4),
    (MemoryKind.STORE, 64, 8),
    (MemoryKind.STORE, 72, 8),
    (MemoryKind.FLUSH, 0, Flush.CLWB),
    (MemoryKind.FLUSH, 64, Flush.CLWB),
    (MemoryKind.FENCE, 0, Fence.SFENCE),
)


def measure(records: int = RECORDS, rounds: int = TURNS) -> list[Row]:
    """Analyse a trace some times, and one of a third of its length once."""
    with workspace() as space:
        long, short = space / "long", space / "short"
        write_memory_trace(long, records)
        write_memory_trace(short, records // 3)
        found = [probe("analyse", long) for _ in range(rounds)]
        base, less = probe("nothing", long)["peak"], probe("analyse", short)["peak"]
    wall, cpu = (min(answer[clock] for answer in found) for clock in ("seconds", "cpu"))
    count = found[0]["records"] / 1e6
    megabytes = (min(answer["peak"] for answer in found) - base) / 1e6
    millions = f"{records / 1e6:.0f} million events"
    return [
        at_least(f"lint of {millions}, CPU time", count / cpu, "M/s", "wanted", WANTED / 1e6, ratio=1.0),
        at_least(f"lint of {millions}, all time", count / wall, "M/s", "wanted", WANTED / 1e6, ratio=1.0),
        at_most(f"lint of {millions}: memory", megabytes, "MB", 100.0),
        at_most("memory for three times the events", (megabytes * 1e6 + base) / less, "times", 1.1),
    ]


def probe(what: str, path: Path) -> dict[str, Any]:
    """One measurement in a process of its own."""
    answer: dict[str, Any] = json.loads(run([sys.executable, str(HERE / "lint.py"), what, str(path)]))
    return answer


def write_memory_trace(path: Path, records: int, seed: int = 0) -> None:
    """Write a trace of about so many memory records."""
    rng = np.random.default_rng(seed)
    runs = [_run(rng, RUN // len(OPERATION)) for _ in range(max(1, records // RUN))]
    head = np.array([(1, 0, 0, 0, MemoryKind.THREAD, 0), (POOL, 0, 0, 1, MemoryKind.FILE, 0)], MEMORY)
    blobs = [head.tobytes(), *(part.tobytes() for part in runs)]
    starts = HEADER_SIZE + EXTENT_HEADER_SIZE + np.cumsum([0, *map(len, blobs)])
    events = np.zeros(2 + len(blobs), EVENT)
    table, entries = _table(int(starts[-1]))
    events[0] = (Kind.SNAP_DIR, 0, 0, 0, 0, 1, 0, 0, 0, 0o40755, 1, 0)
    events[1] = (Kind.SNAP_FILE, 0, 0, 0, 0, POOL, 0, LINES * 64, 0, 0o100644, 2, 0)
    for number, (start, blob) in enumerate(zip(starts.tolist(), blobs, strict=False), 2):
        events[number] = (Kind.MEMORY, 0, 1, 1, 0, 0, 0, len(blob), start, 0, 0, 0)
    with open(path, "wb") as file:
        write_head(file)
        write_extent(file, ExtentKind.BLOBS, b"".join([*blobs, table]))
        write_extent(file, ExtentKind.TABLE, entries.tobytes())
        write_extent(file, ExtentKind.EVENTS, events.tobytes())


def _run(rng: np.random.Generator, operations: int) -> np.ndarray:
    records = np.zeros((operations, len(OPERATION)), MEMORY)
    start = rng.integers(0, LINES // 2, operations) * 128
    for column, (kind, offset, size) in enumerate(OPERATION):
        mine = records[:, column]
        mine["kind"], mine["size"], mine["stack"] = (
            kind,
            size,
            1 + 8 * rng.integers(0, STACKS // 8, operations) + column,
        )
        if kind != MemoryKind.FENCE:
            mine["file"], mine["offset"], mine["value"] = 1, start + offset, rng.integers(1, 1 << 40, operations)
    again = np.flatnonzero(rng.random(operations) < 1 / 16)
    records[again, 4] = records[again, 5]  # the first line twice, one store less
    return records.reshape(-1)


def _table(start: int) -> tuple[bytes, np.ndarray]:
    items = [(TableKind.META, key + b"\0" + value) for key, value in ((b"tracer", b"grind 1"), (b"exit", b"exited 0"))]
    items += [(TableKind.STRING, name) for name in (b"", b"pool")]
    items += [(TableKind.STACK, np.array([(1, 0, n)], FRAME).tobytes()) for n in range(STACKS + 8)]
    numbers: dict[TableKind, int] = {}
    blobs, entries = bytearray(), []
    for kind, data in items:
        numbers[kind] = numbers.get(kind, 0) + 1
        entries.append((kind, numbers[kind], start + len(blobs), len(data), 0))
        blobs += data
    return bytes(blobs), np.array(entries, ENTRY)


def main(what: str, path: str) -> None:
    """One measurement, printed as JSON."""
    answer: dict[str, Any] = {}
    if what != "nothing":
        start, used = time.perf_counter(), time.process_time()
        found = analyse(Trace.open(path, opened=False), AUTO)
        answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used, "records": found.records}
    print(json.dumps({**answer, "peak": peak_memory()}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Adding to a log what was found when no service ran.

Before: a log that nobody writes. After: a further segment with records of the given changes, durable.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable

import numpy as np

from powercut import _engine
from powercut.guard.log import MAGIC, RECORD, SEGMENT_HEAD, VERSION, GuardLog, Pool, RecordKind

ALIGNED = 64
_MOST = 1 << 20  # bytes in one record


def add_found(log: GuardLog, pool: Pool, changes: Iterable[tuple[int, bytes]]) -> int:
    """Write down what a pool holds that the log does not explain; how many records that took."""
    number, sequence = log.next_numbers
    content = bytearray(SEGMENT_HEAD.itemsize)
    salt, count = secrets.randbits(32), 0
    for offset, data in changes:
        for start in range(0, len(data), _MOST):
            content += _record(pool.number, sequence + count, offset + start, data[start : start + _MOST], salt)
            count += 1
    if count:
        head = np.array((MAGIC, VERSION, len(content), number, salt, b""), SEGMENT_HEAD)
        content[: SEGMENT_HEAD.itemsize] = head.tobytes()
        _write(log, f"{number}.segment", bytes(content))
    return count


def _record(pool: int, sequence: int, offset: int, data: bytes, salt: int) -> bytes:
    head = np.zeros((), RECORD)
    head["size"], head["sequence"], head["offset"] = len(data), sequence, offset
    head["kind"], head["flags_pool"] = RecordKind.FOUND, pool << 4
    summed = head.tobytes()[4:] + data
    whole = _engine.guard_checksum(summed, salt).to_bytes(4, "little") + summed
    return whole.ljust(-len(whole) // ALIGNED * -ALIGNED, b"\0")


def _write(log: GuardLog, name: str, content: bytes) -> None:
    """Under its name only when it is complete."""
    part = log.folder / f"{name}.part-{time.monotonic_ns()}"
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.rename(log.folder / name)
    folder = os.open(log.folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

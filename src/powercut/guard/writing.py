"""Adding to a log what was found when no service ran.

Before: a log that nobody writes. After: a further segment with records of the given changes, durable.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np

from powercut import _engine
from powercut.durable import new_file
from powercut.guard.held import Held
from powercut.guard.log import MAGIC, RECORD, SEGMENT_HEAD, VERSION, Array, RecordKind, SegmentState

_ALIGNED = 64
_MOST = 1 << 20  # bytes in one record


def catch_up(held: Held, folder: Path, next_numbers: tuple[int, int], file: Path | None = None) -> int:
    """Write down what a pool, or a copy of it, holds that its log does not explain; how many records that took.

    They stand in a segment of their own, with the next numbers of the log.
    """
    number, sequence = next_numbers
    content = bytearray(SEGMENT_HEAD.itemsize)
    salt, count = secrets.randbits(32), 0
    for offset, data in held.differences(file):
        for start in range(0, len(data), _MOST):
            content += _record(held.pool.number, sequence + count, offset + start, data[start : start + _MOST], salt)
            count += 1
    if count:
        head = (MAGIC, VERSION, len(content), number, number, sequence, 0, SegmentState.COMPLETE, salt, b"")
        content[: SEGMENT_HEAD.itemsize] = np.array(head, SEGMENT_HEAD).tobytes()
        with new_file(folder / f"{number}.segment") as segment:
            segment.write(content)
    return count


def _record(pool: int, sequence: int, offset: int, data: bytes, salt: int) -> bytes:
    head = np.zeros((), RECORD)
    head["size"], head["sequence"], head["offset"] = len(data), sequence, offset
    head["kind"], head["flags_pool"] = RecordKind.FOUND, pool << 4
    return sealed(head, data, salt)


def sealed(head: Array, data: bytes, salt: int) -> bytes:
    """A record as it stands in a segment with some salt."""
    summed = head.tobytes() + data
    whole = _engine.guard_checksum(summed, salt).to_bytes(4, "little") + summed[4:]
    return whole.ljust(-len(whole) // _ALIGNED * -_ALIGNED, b"\0")

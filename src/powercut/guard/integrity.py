"""Whether a log is complete.

Before: the folder of a log that nobody writes. After: each segment that counts has its whole length, none is missing
between them, and each pool has its base; or the first that does not is named. Healing from a part of a log could take
back the wrong updates; what a kill or a power cut leaves is no such part: the records at its end are merely not there.
"""

from __future__ import annotations

from collections.abc import Iterable

from powercut.errors import UsageError
from powercut.guard.log import SEGMENT_HEAD, GuardLog, Pool, SegmentState, head_of, segments_of

_HINT = "Restore the log from a copy. Nothing was changed."


def require_whole(log: GuardLog) -> None:
    """Refuse a log of which a part is gone."""
    _require_segments(log)
    require_bases(log.pools.values(), _HINT)


def require_bases(pools: Iterable[Pool], hint: str) -> None:
    """Refuse a log that lacks what a pool held at first."""
    for pool in pools:
        if not pool.base.exists():
            message = f"{pool.base}, the first content of {pool.path}, is missing."
            raise UsageError("guard-log-short", message, hint)


def _require_segments(log: GuardLog) -> None:
    """From the newest one back to a compacted one, or to the first of all."""
    segments = segments_of(log.folder)
    for number in range(max(segments), 0, -1):
        path = segments.get(number)
        if path is None:
            message = f"segment {number} of the checkpoint log {log.folder} is missing."
            raise UsageError("guard-log-short", message, _HINT)
        with path.open("rb") as file:
            head, there = head_of(path, file.read(SEGMENT_HEAD.itemsize)), file.seek(0, 2)
        if there < head["size"]:
            message = f"{path} is truncated: it has {there} of its {head['size']} bytes."
            raise UsageError("guard-log-short", message, _HINT)
        if head["state"] & SegmentState.COMPACTED:
            return

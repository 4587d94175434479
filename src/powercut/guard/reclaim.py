"""Making a checkpoint log smaller, while the service writes it or when it has ended.

Before: a log, in any state that a service, a kill or a power cut left it in. After: of each byte of a pool the newest
versions are in the log; what is older became what the base shall be. What a pool holds, and what it would hold without
any of the newest versions, is as it was. That is so at each moment on the way, too:

1. What the log says that the bases shall be (since it was reclaimed the last time) is written into them, durably. Who
   reads a base reads that over it anyway.
2. What is kept, and what the bases shall be from now on, is written into a new file, which has no name that counts, and
   made durable.
3. The new file takes the name of the last segment it stands for, and that is made durable. From this moment the
   segments with lower numbers do not count.
4. They are removed. A power cut may bring some back: the next reclaim removes them.

Only segments into which nobody writes any more are touched: those of programs that ended, and those that the service
has said are complete. Their records are the oldest but for a few, which have higher numbers than the first that may
come in a later segment: those stay as they are, and do not count as versions yet.

The log is reclaimed when it has doubled, so each byte of it is moved a few times at most: in steps, the oldest
segments first, each about as large as what is kept, so that a step that is killed costs little. Who may wait for that,
and when, is a matter of `shrinking`.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

from powercut import _engine
from powercut.durable import new_file
from powercut.guard.log import MAGIC, SEGMENT_HEAD, VERSION, Head, SegmentState, head_of, segments_of
from powercut.guard.log_folder import nobody_reclaims
from powercut.quick_dataclass import dataclass

VERSIONS = 3  # of each byte
FLOOR = 64 << 20  # bytes that may always be there: smaller logs are not worth the work
_STEP = 64 << 20  # bytes that are reclaimed at once, if more is not kept: a second's work
_NO_BOUND = (1 << 64) - 1
_BASE = re.compile(r"pool-([0-9]+)\.base")


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What was done: the bytes of segments before and after."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Load:
    """How much of a log was reclaimed, and how much was written since: bytes of segments."""

    compacted: int
    fresh: int

    @property
    def bound(self) -> int:
        """What may be written before it is time to reclaim."""
        return max(FLOOR, self.compacted)


def load_of(folder: Path) -> Load:
    """What there is to do, also while that is done."""
    fresh = 0
    for path in reversed(segments_of(folder).values()):
        with suppress(FileNotFoundError), path.open("rb") as file:
            head, size = head_of(path, file.read(SEGMENT_HEAD.itemsize)), os.fstat(file.fileno()).st_size
            if head["state"] & SegmentState.COMPACTED:
                return Load(size, fresh)
            fresh += size
    return Load(0, fresh)


@dataclass(frozen=True, slots=True)
class _Segment:
    number: int
    path: Path
    head: Head
    size: int

    @property
    def is_compacted(self) -> bool:
        return bool(self.head["state"] & SegmentState.COMPACTED)


def reclaim(folder: Path, versions: int = VERSIONS, floor: int = FLOOR) -> Reclaimed | None:
    """Reclaim what a service that may be running will not write any more, a step of it; None: not worth it yet."""
    with nobody_reclaims(folder):
        segments = _segments(folder)
        run = max((int(segment.head["run"]) for segment in segments), default=0)
        return _reclaim(folder, *_step(*_closed(segments, run)), versions, floor, run)


def reclaim_ended(folder: Path, versions: int = VERSIONS, floor: int = FLOOR) -> Reclaimed | None:
    """The same of a log that nobody writes (`nobody_writes` is held), all of it."""
    return _reclaim(folder, _segments(folder), _NO_BOUND, versions, floor)


def _reclaim(
    folder: Path, closed: list[_Segment], bound: int, versions: int, floor: int, run: int | None = None
) -> Reclaimed | None:
    compacted = sum(segment.size for segment in closed if segment.is_compacted)
    fresh = sum(segment.size for segment in closed if not segment.is_compacted)
    if not fresh or fresh < max(floor, compacted):
        return None
    last = closed[-1]
    with new_file(last.path) as file, _contents(closed) as contents, _bases(folder) as bases:
        file.write(bytes(SEGMENT_HEAD.itemsize))
        file.flush()
        salt = secrets.randbits(32)
        written, folded = _engine.guard_reclaim(contents, bound, versions, file.fileno(), salt, bases)
        folded = max(folded, *(int(segment.head["folded"]) for segment in closed))
        state = SegmentState.COMPLETE | SegmentState.COMPACTED
        size = SEGMENT_HEAD.itemsize + written
        told = size if size < 1 << 32 else 0  # 0: not known
        head = (MAGIC, VERSION, told, last.number, int(last.head["run"]), 0, folded, state, salt, b"")
        os.pwrite(file.fileno(), np.array(head, SEGMENT_HEAD).tobytes(), 0)
        for base in bases.values():
            os.fsync(base)
    _remove(closed[:-1], run)
    return Reclaimed(compacted + fresh, size)


def _segments(folder: Path) -> list[_Segment]:
    """Those that count, lowest number first; the others are removed."""
    found = []
    for number, path in segments_of(folder).items():
        with path.open("rb") as file:
            head = head_of(path, file.read(SEGMENT_HEAD.itemsize))
        found.append(_Segment(number, path, head, path.stat().st_size))
    first = max((i for i, segment in enumerate(found) if segment.is_compacted), default=0)
    _remove(found[:first], max((int(segment.head["run"]) for segment in found), default=0))
    for part in folder.glob("*.segment.*part"):
        part.unlink()
    return found[first:]


def _remove(segments: list[_Segment], run: int | None) -> None:
    """The name of a run's first segment stays: else a second program of the service would begin there again."""
    for segment in segments:
        if segment.number == run:
            os.truncate(segment.path, 0)
        else:
            segment.path.unlink()


def _closed(segments: list[_Segment], run: int) -> tuple[list[_Segment], int]:
    """The first segments, into which nobody writes any more, and the lowest number that a record elsewhere may have.

    The last one is not among them: the service may have begun another since they were listed.
    """
    for count, segment in enumerate(segments):
        ended = segment.number < run or segment.head["state"] & SegmentState.COMPLETE
        if not ended or count == len(segments) - 1:
            bound = int(segment.head["first"])
            return (segments[:count], bound) if bound else ([], 0)
    return [], 0


def _step(closed: list[_Segment], bound: int) -> tuple[list[_Segment], int]:
    """The first of closed segments that are enough for now, and the lowest number that a record behind them may have.

    As much as is kept: with less, what is kept would be moved too often.
    """
    enough = max(_STEP, sum(segment.size for segment in closed if segment.is_compacted))
    fresh = 0
    for count, segment in enumerate(closed):
        if fresh >= enough and segment.head["first"]:  # one that was cut short by a kill tells no number
            return closed[:count], int(segment.head["first"])
        fresh += 0 if segment.is_compacted else segment.size
    return closed, bound


@contextmanager
def _contents(segments: list[_Segment]) -> Iterator[list[bytes | mmap.mmap]]:
    """What segments hold."""
    with ExitStack() as opened:
        found: list[bytes | mmap.mmap] = []
        for segment in segments:
            if segment.size:
                file = opened.enter_context(segment.path.open("rb"))
                found.append(opened.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        yield found


@contextmanager
def _bases(folder: Path) -> Iterator[dict[int, int]]:
    """Descriptors of the bases, by the numbers of their pools."""
    with ExitStack() as opened:
        found = {}
        for path in folder.iterdir():
            if match := _BASE.fullmatch(path.name):
                found[int(match[1])] = opened.enter_context(path.open("r+b")).fileno()
        yield found

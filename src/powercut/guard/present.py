"""What the pools of a log hold, without their history: what the next start of a service needs to know.

Before: the folder of a log that nobody adds to. After: its pools, the content of each, and the numbers that are free.
That takes one reading of the log, and memory for the pools, the log, and where each change stands; who made what, and
what was before, takes several times as much (`history`).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.guard.held import Held
from powercut.guard.log import Pool, base_in, last_segment, no_log, read_segments
from powercut.guard.pieces import content_of
from powercut.quick_dataclass import dataclass

_BASE = re.compile(r"pool-([0-9]+)\.base")


@dataclass(frozen=True, slots=True)
class Present:
    """What a log says of today.

    Attributes:
        pools: by number, with what each of them holds; empty where a base is missing.
        next_numbers: the first segment and the first sequence number that are free.
    """

    folder: Path
    pools: dict[int, PoolNow]
    next_numbers: tuple[int, int]


class PoolNow(Held):
    """What one pool holds."""

    def __init__(self, pool: Pool, image: npt.NDArray[np.uint8]) -> None:
        self.pool, self._image = pool, image

    def now(self, start: int, end: int) -> bytes:
        """A range as it is by the log; zeros behind the end of the base, as nothing there is followed."""
        return self._image[start:end].tobytes().ljust(end - start, b"\0")


def read_present(folder: Path) -> Present:
    """Read what a log says of today."""
    images = {int(match[1]): content_of(path) for path in folder.iterdir() if (match := _BASE.fullmatch(path.name))}
    segments = [content for _, content in reversed(read_segments(folder))]
    if not segments:
        raise no_log(folder)
    told, last = _engine.guard_present(segments, images)
    pools = {}
    for number, size, name in told:
        pool = Pool(number, Path(name.decode("utf-8", "surrogateescape")), size, base_in(folder, number))
        pools[number] = PoolNow(pool, images.get(number, np.empty(0, np.uint8)))
    return Present(folder, pools, (last_segment(folder) + 1, last + 1))

"""A number that stands for a set of updates: the exclusive or of one random-looking number for each.

Sets that grow along a list (all updates issued by a point, all guaranteed by it) get theirs from sums that are kept for
every so many items of the list, so that a trace of a million events does not carry a million of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from powercut import _engine

EVERY = 64


class MarkSums:
    """The marks of the first so many updates of a list."""

    def __init__(self, updates: range | npt.NDArray[np.int32]) -> None:
        self._updates: Sequence[int] = updates if isinstance(updates, range) else updates.data
        numbers = np.arange(len(updates), dtype=np.int32) if isinstance(updates, range) else updates
        self._sums = memoryview(_engine.mark_sums(numbers, EVERY)).cast("Q")

    def of_first(self, count: int) -> int:
        """The mark of the set of the first `count` updates."""
        whole = count // EVERY
        rest = self._updates[whole * EVERY : count]
        return self._sums[whole] ^ _engine.mark_set(rest)

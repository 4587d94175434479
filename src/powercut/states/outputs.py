"""What a program said to the outside, in order: how much of it had been said by a point."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence, Set
from itertools import accumulate

from powercut.trace.reader import Trace


class Words:
    """The outputs of some events, one after the other."""

    def __init__(self, trace: Trace, events: Sequence[int]) -> None:
        records = trace.events[list(events)]
        parts = [trace.blob(int(record["data"]), int(record["length"])) for record in records]
        self._text = b"".join(parts)
        self._times = [2 * event for event in events]
        self._lengths = [0, *accumulate(len(part) for part in parts)]

    def by(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        """All that had been said by a point, but for some events."""
        count = bisect_right(self._times, point)
        if not unsaid:
            return self._text[: self._lengths[count]]
        said = [number for number in range(count) if self._times[number] // 2 not in unsaid]
        return b"".join(self._text[self._lengths[number] : self._lengths[number + 1]] for number in said)

"""The clock of a search for races: every stage asks it, so that the budget holds whatever a stage would like to do.

It starts with the session, not with the search: the first execution and what comes before it count, too.
"""

from __future__ import annotations

import time
from dataclasses import field

from powercut.quick_dataclass import dataclass

FIRST_GRACE = 3.0  # seconds beyond the budget that a first execution gets: without one, there is nothing to tell


@dataclass(frozen=True, slots=True)
class Clock:
    """A budget in seconds, and when it began."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def passed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds until the budget ends, at least 0."""
        return max(0.0, self.seconds - self.passed)

    @property
    def is_over(self) -> bool:
        """Whether the budget has ended."""
        return self.passed >= self.seconds

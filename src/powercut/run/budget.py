"""How much a search may take, and how much of that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

# What explaining may take when the search is over: so many seconds, or a part of the budget if that is more.
LEAST_EXTRA, EXTRA = 5.0, 0.1


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop."""

    seconds: float | None = None
    states: int | None = None


class Spending:
    """What a search has taken of its budget since it began: now."""

    def __init__(self, budget: Budget, taken: Callable[[], int]) -> None:
        """`taken` says how many states count by now."""
        self._budget = budget
        self._taken = taken
        self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return time.monotonic() - self._started

    def left(self) -> float | None:
        """Seconds until the budget ends; None if it never does."""
        seconds = self._budget.seconds
        return None if seconds is None else max(0.0, seconds - self.elapsed)

    @property
    def used_up(self) -> bool:
        """Whether the budget ended long ago: there is no time to explain anything more."""
        seconds = self._budget.seconds
        return seconds is not None and self.elapsed >= seconds + max(LEAST_EXTRA, EXTRA * seconds)

    def over(self) -> bool:
        """Whether the search has had all that it may take."""
        if self._budget.seconds is not None and self.elapsed >= self._budget.seconds:
            return True
        return self._budget.states is not None and self._taken() >= self._budget.states

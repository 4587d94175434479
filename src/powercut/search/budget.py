"""How much a search may take, and how much of that is left."""

from __future__ import annotations

import time
from collections.abc import Callable

from powercut.quick_dataclass import dataclass

# What may be taken when the search is over, to explain what was found: so many seconds, or a part of the budget if that
# is more. With what starting and saving take, a run ends five seconds after its budget, or a tenth of it.
LEAST_EXTRA, EXTRA = 3.5, 0.08
LEAST_SEARCH = 2.0  # seconds that a search has, whatever recording and preparing took
RESERVED = 0.2  # of the budget, for failing states that are not explained yet


def for_search(seconds: float, taken: float) -> float:
    """What the search has of a budget of which so much was taken: the rest, or a little if there is none."""
    return min(seconds, max(LEAST_SEARCH, seconds - taken))


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop.

    Attributes:
        since: when the seconds began, by the monotonic clock; None: when the search does.
    """

    seconds: float | None = None
    states: int | None = None
    since: float | None = None


class Spending:
    """What a search has taken of its budget by now."""

    def __init__(self, budget: Budget, taken: Callable[[], int]) -> None:
        """`taken` says how many states count by now."""
        self._budget = budget
        self._taken = taken
        now = time.monotonic()
        self._started = now if budget.since is None else budget.since
        if budget.seconds is not None:  # a program that takes long to record is searched all the same
            self._started = now - (budget.seconds - for_search(budget.seconds, now - self._started))

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return time.monotonic() - self._started

    def left(self) -> float | None:
        """Seconds until the budget ends; None if it never does."""
        seconds = self._budget.seconds
        return None if seconds is None else max(0.0, seconds - self.elapsed)

    def left_to_explain(self) -> float | None:
        """Seconds until nothing more is asked or waited for; None if there is no hurry."""
        seconds = self._budget.seconds
        return None if seconds is None else max(0.0, seconds + max(LEAST_EXTRA, EXTRA * seconds) - self.elapsed)

    @property
    def used_up(self) -> bool:
        """Whether the budget ended long ago: nothing more is asked or waited for."""
        return self.left_to_explain() == 0.0

    @property
    def nearly_over(self) -> bool:
        """Whether what is left is better spent on explaining what was found."""
        seconds = self._budget.seconds
        return seconds is not None and self.elapsed >= (1 - RESERVED) * seconds

    def over(self) -> bool:
        """Whether the search has had all that it may take."""
        if self._budget.seconds is not None and self.elapsed >= self._budget.seconds:
            return True
        return self._budget.states is not None and self._taken() >= self._budget.states

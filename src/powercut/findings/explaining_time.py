"""How long a failing state is looked into before the best that is known must do.

Explaining asks the oracle, and an oracle may be slow, or hang. Each failing state gets a share of the time that is left
to the search, so that most of it stays for the search, and a little even where nothing is left, so that a finding found
last is explained, too; but nothing goes on beyond the end of all. Without a budget there is no hurry.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SHARE = 0.25  # of what is left, for one failing state
LEAST = 2.0  # seconds that it always gets

Over = Callable[[], bool]  # whether to stop asking
Left = Callable[[], float | None]  # seconds


def never() -> bool:
    """There is no hurry."""
    return False


class ExplainingTime:
    """The time for one failing state after the other."""

    def __init__(self, left: Left = lambda: None, left_in_all: Left = lambda: None) -> None:
        """`left` says how many seconds the search has left, `left_in_all` what it has with its end; None: no limit."""
        self._left = left
        self._left_in_all = left_in_all
        self._deadline: float | None = None

    def begin(self) -> None:
        """Another failing state is looked into."""
        left, in_all = self._left(), self._left_in_all()
        if left is None:
            self._deadline = None
            return
        share = max(LEAST, SHARE * left)
        self._deadline = time.monotonic() + (share if in_all is None else min(share, in_all))

    def is_over(self) -> bool:
        """Whether what is known must do."""
        return self._deadline is not None and time.monotonic() >= self._deadline

"""How long each stage of a run took.

A stage that goes on inside another one counts for itself: `search` is what is left when states are neither explained
nor counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stages:
    """Seconds of the stages of one run, in the order in which they began.

    Attributes:
        seconds: by the name of the stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inside = 0.0  # seconds of the stages inside the one that goes on

    @contextmanager
    def taking(self, name: str) -> Iterator[None]:
        """What happens in the block belongs to this stage."""
        self.seconds.setdefault(name, 0.0)
        outside, self._inside = self._inside, 0.0
        started = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - started
            self.seconds[name] += took - self._inside
            self._inside = outside + took

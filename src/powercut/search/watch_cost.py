"""Whether watching a check pays: what it cost so far, what it saved, and how much may be risked.

A watched run costs more than a plain one; each state that need not be run saves a plain run, its image included. Costs
may exceed savings by a small amount at the start and by a small share of the time spent later, so a run with
equivalence is never much slower than one without. What a plain run costs is known from the last ones: a check may
become much cheaper once it is forked (oracle/forked_check.py), so the runs after the first are plain.
"""

from __future__ import annotations

from collections import deque
from statistics import median

STAKE = 2.0  # seconds, of all workers together, that may be spent before anything is saved
SHARE = 0.03  # of the time that checks took
FIRST_PLAIN = 6  # runs of each worker
LAST = 7  # plain runs whose median is the cost of the next


class Economy:
    """The books of one run."""

    def __init__(self, workers: int, *, always: bool) -> None:
        """`always`: whatever it costs."""
        self._always = always
        self._unknown = FIRST_PLAIN * workers  # plain runs that are still to come until their cost is known
        self._watching = 0.0  # seconds on top of plain runs
        self._looking_up = 0.0
        self._saved = 0.0
        self._judged = 0.0
        self._plain_runs = deque[float](maxlen=LAST)  # seconds
        self._plain = 0.0  # seconds of a run that nobody watches

    @property
    def watching_pays(self) -> bool:
        """Whether more runs may be watched."""
        if self._always:
            return True
        return self._unknown <= 0 and self._watching + self._looking_up <= self._credit

    @property
    def looking_up_pays(self) -> bool:
        """Whether states may still be looked up in the tree, which costs far less."""
        return self._always or self._looking_up <= self._credit

    @property
    def _credit(self) -> float:
        return self._saved + STAKE + SHARE * self._judged

    def ran(self, seconds: float) -> None:
        """A plain run."""
        self._unknown -= 1
        self._plain_runs.append(seconds)
        self._plain = median(self._plain_runs)
        self._judged += seconds

    def watched(self, seconds: float, plain: float) -> None:
        """A watched run, which may hold one in the usual way."""
        self._plain = self._plain or plain
        self._judged += self._plain
        self._watching += max(0.0, seconds - self._plain)

    def looked_up(self, seconds: float) -> None:
        """A look into the tree."""
        self._looking_up += seconds

    def skipped(self) -> None:
        """A state that was not run."""
        self._saved += self._plain

"""Whether watching a check pays: what it cost so far, what it saved, and how much may be risked.

A watched run costs more than a plain one; each state that need not be run saves a plain run, its image included. Costs
may exceed savings by a small amount at the start and by a small share of the time spent later, so a run with
equivalence is never much slower than one without.
"""

from __future__ import annotations

STAKE = 2.0  # seconds, of all workers together, that may be spent before anything is saved
SHARE = 0.03  # of the time that checks took


class Economy:
    """The books of one run."""

    def __init__(self, *, always: bool) -> None:
        """`always`: whatever it costs."""
        self._always = always
        self._watching = 0.0  # seconds on top of plain runs
        self._looking_up = 0.0
        self._saved = 0.0
        self._judged = 0.0
        self._plain_seconds = 0.0
        self._plain_runs = 0

    @property
    def watching_pays(self) -> bool:
        """Whether more runs may be watched."""
        return self._always or self._watching + self._looking_up <= self._credit

    @property
    def looking_up_pays(self) -> bool:
        """Whether states may still be looked up in the tree, which costs far less."""
        return self._always or self._looking_up <= self._credit

    @property
    def _credit(self) -> float:
        return self._saved + STAKE + SHARE * self._judged

    @property
    def _plain(self) -> float:
        """Seconds of a run that nobody watches."""
        return self._plain_seconds / self._plain_runs if self._plain_runs else 0.0

    def ran(self, seconds: float) -> None:
        """A plain run."""
        self._plain_seconds += seconds
        self._plain_runs += 1
        self._judged += seconds

    def watched(self, seconds: float, plain: float) -> None:
        """A watched run, which may hold a plain one."""
        if plain:
            self._plain_seconds += plain
            self._plain_runs += 1
        self._judged += self._plain
        self._watching += max(0.0, seconds - self._plain)

    def looked_up(self, seconds: float) -> None:
        """A look into the tree."""
        self._looking_up += seconds

    def skipped(self) -> None:
        """A state that was not run."""
        self._saved += self._plain

"""States of which the check did not say one thing: it contradicted itself there, or did not end.

Before: results as they come in, and what was still running when nothing was waited for any more. After: the first such
states, to be shown and kept with the run; the others are counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from powercut.quick_dataclass import dataclass
from powercut.states.state import State

MOST_KEPT = 3  # of each sort; more of them show the user nothing new
OVERDUE = 2.0  # times as long as the longest run that ended


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A state of a timeline, and what the check said of it; empty if it said nothing."""

    number: int
    state: State
    said: str


class DoubtfulStates:
    """Those of one search.

    Attributes:
        contradicted: states on which the check said one thing and then another, the first ones.
        unanswered: states on which it was still running, much longer than ever before, the first ones.
        overdue: how many of those there are.
    """

    def __init__(self) -> None:
        self.contradicted: list[Doubtful] = []
        self.unanswered: list[Doubtful] = []
        self.overdue = 0
        self._longest = 0.0

    def contradiction(self, number: int, state: State, said: str) -> None:
        """The check contradicted itself."""
        seen = any((one.number, one.state) == (number, state) for one in self.contradicted)
        if not seen and len(self.contradicted) < MOST_KEPT:
            self.contradicted.append(Doubtful(number, state, said))

    def answered(self, seconds: float) -> None:
        """A verdict came after so long, counted from when it was asked for."""
        self._longest = max(self._longest, seconds)

    def gave_up(self, running: Iterable[tuple[int, State, float]]) -> None:
        """Nobody waits for these any more (number, state, seconds since they were asked for), the oldest first.

        A check that needs long for every state was only cut off, and the state is as untested as all that come after
        it. One that needed twice as long as ever before may hang: what becomes of this state, nobody knows.
        """
        late = [(number, state) for number, state, seconds in running if seconds > OVERDUE * self._longest]
        self.overdue += len(late)
        room = MOST_KEPT - len(self.unanswered)
        self.unanswered += [Doubtful(number, state, "") for number, state in late[:room]]

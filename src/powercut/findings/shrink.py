"""Shrinking a failing state: the fewest lost updates, at the earliest moment, that still fail.

Before: a state that the oracle refuses. After: a state that it refuses too, from which no lost update can be given
back (as far as questions and time go) without it passing, and in which the last event that happened is the one that
makes it fail. A crash that loses nothing, at this moment or right before the first lost update, comes before any loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from powercut.findings.patience import Over
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

Ask = Callable[[Sequence[State]], list[bool]]  # which of these states are known to fail?

MOST_SINGLES = 256  # lost updates tried one by one
MOST_QUESTIONS = 400  # oracle runs for one shrink


class Shrinker:
    """Shrinks failing states of one timeline."""

    def __init__(self, timeline: Timeline, ask: Ask, over: Over) -> None:
        self._timeline = timeline
        self._ask_oracle = ask
        self._over = over
        self._asked = 0

    @property
    def _enough(self) -> bool:
        """Whether the best state so far must do."""
        return self._asked >= MOST_QUESTIONS or self._over()

    def shrink(self, state: State) -> State:
        """A smaller state that fails as well."""
        self._asked = 0
        lost = set(self._timeline.lost(state))
        if not lost:
            return self._earliest_prefix(state)
        killed = self._killed(state.point)
        if killed is None:
            lost = self._fewest_lost(state.point, lost)
            killed = self._killed(2 * int(self._timeline.event[min(lost)]) - 1)
        if killed is not None:
            return self._earliest_prefix(killed)
        state = self._earliest(state.point, lost)
        return self._state(state.point, self._fewest_lost(state.point, set(state.delta)))

    def _killed(self, point: int) -> State | None:
        """The state at a point with nothing lost, if it fails as well: that is the simpler story."""
        state = self._state(point, set())
        return state if point >= 0 and self._ask([state])[0] else None

    def _state(self, point: int, lost: set[int]) -> State:
        return State(point, Base.ISSUED, frozenset(lost))

    def _ask(self, states: Sequence[State]) -> list[bool]:
        self._asked += len(states)
        return self._ask_oracle(states) if states else []

    def _fewest_lost(self, point: int, lost: set[int]) -> set[int]:
        """Try each lost update alone (with what cannot be without it); otherwise give back what can be."""
        singles = sorted(lost)[:MOST_SINGLES]
        alone = [self._timeline.up([update], point) for update in singles]
        fails = self._ask([self._state(point, some) for some in alone])
        failing = [some for some, fail in zip(alone, fails, strict=True) if fail]
        if failing:
            return min(failing, key=len)
        return self._give_back(point, lost)

    def _give_back(self, point: int, lost: set[int]) -> set[int]:
        """Halves first, then one by one, in program order: what is given back never needs what is kept lost."""
        size = len(lost) // 2
        while size and not self._enough:
            ordered = sorted(lost)
            shrunk = False
            for start in range(0, len(ordered), size):
                back = self._timeline.down(ordered[start : start + size], point) & lost
                rest = lost - back
                if rest and self._ask([self._state(point, rest)])[0]:
                    lost, shrunk = rest, True
                    break
                if self._enough:
                    break
            if not shrunk:
                size //= 2
        return lost

    def _happenings(self, low: int, point: int) -> list[int]:
        """Times from event `low` up to a point at which something was issued or said."""
        events = set(self._timeline.event.tolist()) | {index for index, _ in self._timeline.outputs}
        return [*sorted(2 * e for e in events if e >= low and 2 * e <= point), point]

    def _earliest(self, point: int, lost: set[int]) -> State:
        """The earliest crash with this loss that fails, by bisection."""
        times = self._happenings(int(self._timeline.event[min(lost)]), point)
        low, high = 0, len(times) - 1  # the last one fails
        while low < high:
            middle = (low + high) // 2
            if self._ask([self._at(times[middle], lost)])[0]:
                high = middle
            else:
                low = middle + 1
        return self._at(times[high], lost)

    def _at(self, time: int, lost: set[int]) -> State:
        issued = self._timeline.issued(time)
        return self._state(time, {update for update in lost if update < issued})

    def _earliest_prefix(self, state: State) -> State:
        """The first of the moments in a row, ending with this one, at which a plain kill fails."""
        times = self._happenings(0, state.point)
        for time in reversed(times[:-1]):
            if self._enough or not self._ask([self._state(time, set())])[0]:
                break
            state = self._state(time, set())
        return state

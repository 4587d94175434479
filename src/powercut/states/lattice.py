"""The states of one crash point as a lattice: counted and enumerated exactly.

At a point the possible states are the closed subsets of the pending updates: with each update all it needs. Sets are
Python integers used as bit masks over the pending updates, so that closed sets of hundreds of updates stay cheap.
"""

from __future__ import annotations

from collections.abc import Iterator

from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

_WIDE = 128  # pending updates whose masks no longer are a machine word or two: each step takes longer by their number
_STEPS_OF_WIDE = 2  # steps that one counts for there


class Lattice:
    """All states at one crash point."""

    def __init__(self, timeline: Timeline, point: int) -> None:
        self.point = point
        self.pending = timeline.pending(point)
        wide = len(self.pending) >= _WIDE
        self._step = len(self.pending) * _STEPS_OF_WIDE // _WIDE if wide else 1
        self.steps = 0  # what counting took
        position = {update: i for i, update in enumerate(self.pending)}
        # Needs have smaller numbers than their users, so one pass closes them.
        self._down = [0] * len(self.pending)
        for i, update in enumerate(self.pending):
            mask = 1 << i
            for need in timeline.needs(update):
                if need in position:
                    mask |= self._down[position[need]]
            self._down[i] = mask
        self._up = [0] * len(self.pending)
        for i in range(len(self.pending)):
            bits = self._down[i]
            while bits:
                low = bits & -bits
                self._up[low.bit_length() - 1] |= 1 << i
                bits ^= low
        if wide:  # this took as long as so many steps
            self.steps = sum(mask.bit_count() for mask in self._down) // _WIDE

    def state(self, mask: int) -> State:
        """A closed set as a state."""
        delta = frozenset(self.pending[i] for i in _bits(mask))
        return State(self.point, Base.GUARANTEED, delta)

    def states(self) -> Iterator[State]:
        """Every state once, from the poorest on."""
        everything = (1 << len(self.pending)) - 1
        waiting = [(0, everything)]  # chosen, undecided
        while waiting:
            chosen, open_ = waiting.pop()
            if not open_:
                yield self.state(chosen)
                continue
            i = (open_ & -open_).bit_length() - 1  # all its needs are decided, and chosen where it is still open
            waiting.append((chosen | (1 << i), open_ & ~(1 << i)))
            waiting.append((chosen, open_ & ~self._up[i]))

    def count(self, limit: int) -> int | None:
        """How many states there are; None if that takes more than `limit` steps to find out."""
        known: dict[int, int] = {0: 1}

        def count(open_: int) -> int:
            if open_ in known:
                return known[open_]
            self.steps += self._step
            if self.steps > limit:
                raise OverflowError
            component = self._component(open_)
            if component != open_:
                total = count(component) * count(open_ & ~component)
            else:
                i = max(_bits(open_), key=lambda j: ((self._down[j] | self._up[j]) & open_).bit_count())
                total = count(open_ & ~self._up[i]) + count(open_ & ~self._down[i])
            known[open_] = total
            return total

        try:
            return count((1 << len(self.pending)) - 1)
        except (OverflowError, RecursionError):
            return None

    def _component(self, open_: int) -> int:
        """The updates that hang together with the first one."""
        found, waiting = 0, open_ & -open_
        while waiting:
            i = (waiting & -waiting).bit_length() - 1
            found |= 1 << i
            waiting = (waiting | ((self._down[i] | self._up[i]) & open_)) & ~found
        return found


def _bits(mask: int) -> list[int]:
    bits = []
    while mask:
        low = mask & -mask
        bits.append(low.bit_length() - 1)
        mask ^= low
    return bits

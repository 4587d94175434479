"""What stands for an image: the digest of what it holds, and of what the oracle holds the program to.

States with the same key are judged once, on whichever row they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from powercut.findings.questions import Question
from powercut.image.digest import Digester
from powercut.search.verdict_cache import Key
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

# What an oracle holds the program to at a point, without the output of some events.
OutputKey = Callable[[Timeline, int, frozenset[int]], Hashable]


class ImageKeys:
    """The keys of the images of some timelines of one trace."""

    def __init__(self, timelines: Sequence[Timeline], output_key: OutputKey, *, outlive: bool) -> None:
        """`outlive`: whether keys are compared with those of other runs."""
        self._timelines = timelines
        self._output_key = output_key
        self._digesters = [Digester(timeline, whole=outlive) for timeline in timelines]
        self._killed: dict[int, int] = {}  # event up to which nothing is lost -> digest, the same on every row
        self._last: tuple[State | None, int, int] = (None, -1, 0)  # a state is often asked about twice in a row

    def key(self, number: int, state: State) -> Key:
        """The key of a state."""
        return self.key_of(number, Question(state))

    def key_of(self, number: int, question: Question) -> Key:
        """The key of a state with the output that is asked about."""
        output = self._output_key(self._timelines[number], question.output_ends, question.unsaid)
        return self._digest(number, question.state), output

    def _digest(self, number: int, state: State) -> int:
        known, row, digest = self._last
        if known is not state or row != number:
            digest = self._new_digest(number, state)
            self._last = (state, number, digest)
        return digest

    def _new_digest(self, number: int, state: State) -> int:
        if state.delta or state.base is not Base.ISSUED:
            return self._digesters[number].digest(state)
        last = state.point // 2
        if last not in self._killed:
            self._killed[last] = self._digesters[number].digest(state)
        return self._killed[last]

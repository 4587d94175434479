"""The search for a crash state that meets all demands: exact, or given up when it takes too long.

Before: demands, each a choice of patterns. After: updates that must have survived, updates that must have been lost,
and a span of moments, such that every crash state between them meets every demand; or the certainty that there is none.

What is known is three things: who survived, who was lost, and from when to when the crash can have been. A pattern adds
to all three, and its updates bring along what they need, or what needs them. What is guaranteed at the earliest moment
or not issued by the latest is known by that alone: a guarantee covers all that an update needs, and nobody needs an
update of the future, so that order never has to be followed there.

Demands with one pattern left are met at once. Then one with few patterns is tried, and taken back where it leads
nowhere. Demands that failed are tried first from then on, and the search starts anew now and then, so that a
contradiction between two of them is not found again for every choice of all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count

from powercut.matching.demands import NO_OBJECT, Demand, Pattern
from powercut.quick_dataclass import dataclass
from powercut.states.timeline import Timeline

MOST_STEPS = 1_000_000  # patterns looked at for one question: some seconds
_FIRST_RESTART = 50  # dead ends after which the search starts anew; then half as many again, and so on

Expand = Callable[[bytes, int], list[Demand]]
_Open = tuple[Demand, tuple[Pattern, ...], bool]  # a demand, the patterns left, whether its object's demands are open


class UndecidedError(Exception):
    """The search was given up."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What every matching state of a span of moments has in common.

    Attributes:
        low: the first moment.
        high: the first moment after the last.
        kept: updates that survived, beside those guaranteed at the first moment.
        lost: updates that did not.
    """

    low: int
    high: int
    kept: frozenset[int]
    lost: frozenset[int]


class Search:
    """Who survived and who was lost, as far as it is known, and what is still to be chosen."""

    def __init__(self, timeline: Timeline, expand: Expand, low: int, high: int, most_steps: int = MOST_STEPS) -> None:
        """`expand`: what the object at a path of the image demands; moments from `low` to before `high`."""
        self._timeline = timeline
        self._updates = timeline.updates
        self._expand = expand
        self.low = low
        self.high = high
        self._steps = 0
        self._most_steps = most_steps
        self._survived: dict[int, bool] = {}
        self._trail: list[int] = []
        self._weights: Counter[Demand] = Counter()  # how often each led into a dead end
        self._open: list[_Open] = []

    # What is known

    def _is_compatible(self, pattern: Pattern) -> bool:
        if pattern.low >= self.high or pattern.high <= self.low:
            return False
        known = self._survived  # plain loops: this is most of the work
        for update in pattern.kept:
            if known.get(update) is False:
                return False
        for update in pattern.lost:  # noqa: SIM110
            if known.get(update):
                return False
        return True

    def _is_certain(self, pattern: Pattern) -> bool:
        """Whether a pattern holds in every state that is still possible."""
        if pattern.low > self.low or pattern.high < self.high:
            return False
        known, guaranteed, event = self._survived, self._updates.guaranteed, self._updates.event
        return all(known.get(u) or guaranteed[u] <= self.low for u in pattern.kept) and all(
            known.get(u) is False or 2 * event[u] >= self.high for u in pattern.lost
        )

    def _assume(self, pattern: Pattern) -> bool:
        """Add a pattern to what is known; whether that contradicts nothing."""
        self.low, self.high = max(self.low, pattern.low), min(self.high, pattern.high)
        return self.low < self.high and self._keep(pattern.kept) and self._lose(pattern.lost)

    def _keep(self, updates: Iterable[int]) -> bool:
        known, guaranteed, waiting = self._survived, self._updates.guaranteed, list(updates)
        while waiting:
            update = waiting.pop()
            if update in known:
                if not known[update]:
                    return False
            elif guaranteed[update] > self.low:
                known[update] = True
                self._trail.append(update)
                waiting.extend(self._timeline.needs(update))
        return True

    def _lose(self, updates: Iterable[int]) -> bool:
        known, event, waiting = self._survived, self._updates.event, list(updates)
        while waiting:
            update = waiting.pop()
            if update in known:
                if known[update]:
                    return False
            elif 2 * event[update] < self.high:
                known[update] = False
                self._trail.append(update)
                waiting.extend(self._timeline.users(update))
        return True

    def _return_to(self, low: int, high: int, length: int) -> None:
        """Forget what was learnt since."""
        self.low, self.high = low, high
        while len(self._trail) > length:
            del self._survived[self._trail.pop()]

    # What follows

    def start(self, demands: Iterable[Demand]) -> bool:
        """Take demands, and all that follows from them without a choice; whether they do not contradict each other."""
        found = self._follow([(demand, demand.patterns, False) for demand in demands])
        self._open = found or []
        return found is not None

    def _follow(self, waiting: list[_Open]) -> list[_Open] | None:
        """Meet every demand that has one pattern left, until none has; what is left, or None in a dead end."""
        changed = True
        while changed:
            changed, left = False, list[_Open]()
            for demand, patterns, is_open in waiting:
                self._steps += len(patterns)
                alive = tuple(filter(self._is_compatible, patterns))
                if not alive or (len(alive) == 1 and not self._assume(alive[0])):
                    self._weights[demand] += 1
                    return None
                changed = changed or len(alive) == 1
                if demand.path is not None and not is_open and _targets_one(alive):
                    left += self._opened(demand.path, alive[0].target)
                    changed = is_open = True
                if len(alive) > 1:
                    left.append((demand, alive, is_open))
                    changed = self._narrow(alive) or changed
            waiting = left
        if self._steps > self._most_steps:
            raise UndecidedError
        return waiting

    def _opened(self, path: bytes, obj: int) -> list[_Open]:
        if obj == NO_OBJECT:
            return []
        return [(demand, demand.patterns, False) for demand in self._expand(path, obj)]

    def _narrow(self, alive: tuple[Pattern, ...]) -> bool:
        """The crash was in the span of one of the patterns; whether that says something new."""
        low = max(self.low, min(pattern.low for pattern in alive))
        high = min(self.high, max(pattern.high for pattern in alive))
        is_new = (low, high) != (self.low, self.high)
        self.low, self.high = low, high
        return is_new

    # Choices

    def solve(self, low: int, high: int) -> Solution | None:
        """A solution whose moments are not before `low` and begin before `high`; None if there is none."""
        root = self.low, self.high, len(self._trail)
        limit = _FIRST_RESTART
        try:
            while True:
                self._return_to(*root)
                self.low, self.high = max(low, self.low), min(high, self.high)
                is_finished, solution = self._try(limit) if self.low < self.high else (True, None)
                if is_finished:
                    return solution
                limit += limit // 2
        finally:
            self._return_to(*root)

    def _try(self, limit: int) -> tuple[bool, Solution | None]:
        """Search until a number of dead ends; whether that was enough, and the solution."""
        left = self._follow(list(self._open))
        choices: list[tuple[list[_Open], _Open, list[Pattern], tuple[int, int, int]]] = []
        while True:
            if left is not None:
                left = [entry for entry in left if not self._is_met(entry)]
                if not left:
                    return True, self._solution()
                chosen = min(left, key=self._promise)
                rest = [entry for entry in left if entry is not chosen]
                place = (self.low, self.high, len(self._trail))
                choices.append((rest, chosen, list(reversed(chosen[1])), place))
            else:
                limit -= 1
                if limit < 0:
                    return False, None
            while choices and not choices[-1][2]:
                choices.pop()
            if not choices:
                return True, None
            rest, (demand, _, is_open), patterns, place = choices[-1]
            self._return_to(*place)
            left = self._follow([(demand, (patterns.pop(),), is_open), *rest])

    # Without contradictions

    def settle(self, demands: Iterable[Demand]) -> Solution:
        """A solution that meets many demands, one after the other, and passes over those that contradict others."""
        number = count()  # demands are not compared
        waiting = [(len(demand.patterns), next(number), demand) for demand in demands]
        while waiting:
            demand = heappop(waiting)[2]
            pattern = next(filter(self._can_assume, demand.patterns), None)
            if pattern is not None and demand.path is not None:
                for inner, patterns, _ in self._opened(demand.path, pattern.target):
                    heappush(waiting, (len(patterns), next(number), inner))
        return self._solution()

    def _can_assume(self, pattern: Pattern) -> bool:
        """Add a pattern to what is known, or leave it if it contradicts something; whether it was added."""
        place = (self.low, self.high, len(self._trail))
        if self._is_compatible(pattern) and self._assume(pattern):
            return True
        self._return_to(*place)
        return False

    def blamed(self) -> list[Demand]:
        """The demands that led into dead ends, those first that did so most often."""
        return [demand for demand, _ in self._weights.most_common()]

    def _promise(self, entry: _Open) -> float:
        """Demands with few patterns come first, and those that failed often."""
        return len(entry[1]) / (1 + self._weights[entry[0]])

    def _is_met(self, entry: _Open) -> bool:
        """Whether a demand is met whatever is chosen elsewhere."""
        demand, patterns, is_open = entry
        return (demand.path is None or is_open) and any(map(self._is_certain, patterns))

    def _solution(self) -> Solution:
        kept = frozenset(update for update, survived in self._survived.items() if survived)
        lost = frozenset(update for update, survived in self._survived.items() if not survived)
        return Solution(self.low, self.high, kept, lost)


def _targets_one(patterns: tuple[Pattern, ...]) -> bool:
    """Whether a name stands for one object, whichever pattern holds."""
    return all(pattern.target == patterns[0].target for pattern in patterns)

"""How many states a timeline has: counted where that is in reach, estimated with its error where it is not.

An estimate is the mean of random probes (Knuth, "Estimating the efficiency of backtrack programs", 1975). A probe makes
one random state of a point, update by update in program order: an update one of whose needs was lost is lost, any other
survives by chance. One divided by the probability of all its choices is, on average, the number of states, whatever the
chances are. They are chosen so that every probe gives nearly the same: if each update needed at most one other, the
states that hold it and those that do not could be counted exactly, and all probes of a point would be equal.

Numbers are logarithms here: there are points with more states than a float can hold.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence

from powercut.quick_dataclass import dataclass
from powercut.states.timeline import Timeline

MOST_POINTS = 200  # points that are probed; of more, a sample of them
FEWEST_POINTS = 2
FEWEST_PROBES = 8  # of each point
MORE_PROBES = 200  # if there is time
SECONDS = 0.5  # for all probes of a timeline beyond the fewest
DIGITS = 15  # of a number that anyone reads, and that a float holds exactly
_NEAR = 0.005  # relative error of a point that needs no more probes
_ALMOST_ONE = 1 - 2**-40


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how many there are.

    Attributes:
        log10: of the number.
        error: one standard error, relative to the number; 0 if it was counted.
    """

    log10: float
    error: float = 0.0

    @classmethod
    def of(cls, counted: int) -> Estimate:
        """A number that was counted."""
        return cls(math.log10(counted))

    @property
    def number(self) -> str:
        """The number in figures."""
        if self.log10 >= DIGITS:
            return f"10^{self.log10:.0f}"
        if self.log10 < 6:
            return f"{10**self.log10:,.0f}"
        digits, _, exponent = f"{10**self.log10:.1e}".partition("e")
        return f"{digits} × 10^{int(exponent)}"

    def __str__(self) -> str:
        return f"about {self.number} (± {100 * self.error:,.0f} %)" if self.log10 < DIGITS else f"about {self.number}"

    def less(self, covered: int) -> Estimate:
        """What is left of it."""
        if self.log10 > DIGITS or not covered:
            return self  # beyond the digits of a float
        whole = 10**self.log10
        left = max(whole - covered, 1.0)
        return Estimate(math.log10(left), self.error * whole / left)

    def __add__(self, other: Estimate) -> Estimate:
        high = max(self.log10, other.log10)
        parts = [10 ** (some.log10 - high) for some in (self, other)]
        total = sum(parts)
        error = math.hypot(parts[0] * self.error, parts[1] * other.error) / total
        return Estimate(high + math.log10(total), error)


def estimate_states(
    timeline: Timeline, counted: int, points: Sequence[int], seed: int = 0, seconds: float = SECONDS
) -> Estimate:
    """The number of all states, of which some were counted; `points` are those that were not."""
    rng = random.Random(seed)
    some = rng.sample(points, min(len(points), MOST_POINTS))
    deadline = time.monotonic() + seconds
    probes: list[_Probes] = []
    for point in some:
        if len(probes) >= FEWEST_POINTS and time.monotonic() > deadline:
            break  # fewer points are a sample, too
        probes.append(_Probes(timeline, point))
        probes[-1].probe(rng, FEWEST_PROBES)
    for _ in range(MORE_PROBES):
        vague = [probe for probe in probes if probe.error > _NEAR]
        for probe in vague:
            if time.monotonic() > deadline:
                break
            probe.probe(rng, 1)
        if not vague or time.monotonic() > deadline:
            break
    uncounted = _sum_of_points(probes, len(points))
    return uncounted + Estimate.of(counted) if counted else uncounted


def _sum_of_points(probes: Sequence[_Probes], count: int) -> Estimate:
    """The sum over all points, of which some were probed."""
    found = [probe.mean() for probe in probes]
    high = max(mean for mean, _ in found)
    means = [math.exp(mean - high) for mean, _ in found]
    variance = sum((mean * error) ** 2 for mean, (_, error) in zip(means, found, strict=True))
    total = sum(means)
    if len(means) < count:  # a sample: what the points differ by is an error, too
        scale, average = count / len(means), total / len(means)
        between = sum((mean - average) ** 2 for mean in means) / (len(means) - 1)
        missing = 1 - len(means) / count
        variance = scale**2 * variance + count**2 * missing * between / len(means)
        total *= scale
    return Estimate((high + math.log(total)) / math.log(10), math.sqrt(variance) / total)


class _Probes:
    """Random probes of one point."""

    def __init__(self, timeline: Timeline, point: int) -> None:
        pending = timeline.pending(point)
        position = {update: place for place, update in enumerate(pending)}
        self._needs = [[position[n] for n in timeline.needs(update) if n in position] for update in pending]
        self._keep = _chances(self._needs)
        self._logs: list[float] = []
        self._all_equal = all(len(needs) <= 1 for needs in self._needs)

    def probe(self, rng: random.Random, count: int) -> None:
        """Make some random states; where all would stand for the same number, one says it."""
        self._logs += [self._weight(rng) for _ in range(1 if self._all_equal else count)]

    @property
    def error(self) -> float:
        """The relative standard error by now."""
        return 0.0 if self._all_equal else self.mean()[1]

    def _weight(self, rng: random.Random) -> float:
        """The logarithm of how many states one random state stands for."""
        lost = bytearray(len(self._needs))
        weight = 0.0
        for place, (needs, keep) in enumerate(zip(self._needs, self._keep, strict=True)):
            if any(lost[need] for need in needs):
                lost[place] = 1
            elif rng.random() < keep:
                weight -= math.log(keep)
            else:
                lost[place] = 1
                weight -= math.log(1 - keep)
        return weight

    def mean(self) -> tuple[float, float]:
        """(logarithm of the mean, its relative standard error)."""
        high, count = max(self._logs), len(self._logs)
        weights = [math.exp(log - high) for log in self._logs]
        mean = sum(weights) / count
        variance = sum((weight - mean) ** 2 for weight in weights) / max(1, count - 1)
        return high + math.log(mean), math.sqrt(variance / count) / mean


def _chances(needs: Sequence[Sequence[int]]) -> list[float]:
    """For each update the chance to survive that would make all probes equal, if it hung on its last need alone.

    Then the states of what hangs on an update number 1 (it is lost, and all with it) plus the product of the same
    number for each that hangs on it directly.
    """
    inside = [0.0] * len(needs)  # logarithm of that product
    keep = [0.0] * len(needs)
    for place in range(len(needs) - 1, -1, -1):
        whole = inside[place] + math.log1p(math.exp(-inside[place]))  # log(1 + product)
        keep[place] = min(_ALMOST_ONE, math.exp(inside[place] - whole))
        if needs[place]:
            inside[max(needs[place])] += whole
    return keep

"""The fewest things that something needs, in few questions: pure algorithms, whatever a question costs or is about.

Before: things in the order of suspicion, and questions whose answers are dear: a run of a check, or a restart of a
service. After: the first of some things in a row that holds, or the few that are needed; what is returned was answered
with yes, or is known to be. Which questions are asked depends on the answers alone, never on the machine: where things
do not hold in a row, other questions might lead elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")
Holds = Callable[[Sequence[int]], list[bool]]  # which of some positions hold
PAIRWISE = 2  # questions at a time where two are answered as fast as one
ONE = 1


def first_failing(count: int, fails: Holds, at_once: int = PAIRWISE) -> int:
    """The first of some things in a row that fails, if those after it do, too; the last one is known to."""
    low, high = 0, count - 1
    while low < high:
        asked = _between(low, high, at_once)
        for position, failed in zip(asked, fails(asked), strict=True):
            if failed:
                high = position
                break
            low = position + 1
    return high


def gallop(count: int, fails: Holds, one_by_one: int = 0, at_once: int = PAIRWISE) -> int:
    """The same where the first ones are the likeliest: steps that grow, and then within the last step.

    `count` if none fails. So many are asked about one by one before: of those, none that fails is passed over.
    """
    for low in range(0, min(one_by_one, count), 2):
        answers = fails(range(low, min(low + 2, count)))
        if True in answers:
            return low + answers.index(True)
    low, strides = min(count, one_by_one + one_by_one % 2), _strides(at_once)
    while low < count:
        far = min(low + next(strides), count - 1)
        asked = sorted({low, far}) if at_once == PAIRWISE else [far]
        answers = fails(asked)
        if asked[0] == low and answers[0]:
            return low
        if answers[-1]:
            return _within(low + (asked[0] == low), far + 1, fails, at_once)
        low = far + 1
    return count


def fewest(most: int, helps: Callable[[int], bool]) -> int:
    """How many of the first ones are enough, asked one at a time; 0: all are not."""
    enough = gallop(most, lambda some: [helps(position + 1) for position in some], at_once=ONE) + 1
    return enough if enough <= most else 0


def needed(
    things: Sequence[Thing], help_together: Callable[[Sequence[Thing]], bool], given: Sequence[Thing] = ()
) -> list[Thing]:
    """Those of some things that help together which are needed beside what is given: by halving (QuickXplain).

    Of n things of which k are needed, about k log(n / k) sets are asked for. If more things never spoil what fewer of
    them mend, none of those is needless.
    """
    if given and help_together(given):
        return []
    if len(things) <= 1:
        return list(things)
    first, second = things[: len(things) // 2], things[len(things) // 2 :]
    of_second = needed(second, help_together, [*given, *first])
    return [*needed(first, help_together, [*given, *of_second]), *of_second]


def needed_in_order(
    things: Sequence[Thing], fail: Callable[[Sequence[Sequence[Thing]]], list[bool]], most: int
) -> list[Thing]:
    """Those of some things that fail together which are needed for that, if the first ones are the likeliest.

    Again and again the last one is found without which those before it do not fail. After `most` questions, those that
    nobody asked about are taken to be needed.
    """
    found: list[Thing] = []
    left = list(things)  # with what was found, all of these are known to fail
    asked = 0

    def fails(counts: Sequence[int]) -> list[bool]:
        nonlocal asked
        asked += len(counts)
        return fail([[*found, *left[: count + (not found)]] for count in counts])

    while left and asked < most:
        least = int(not found)
        count = least + gallop(len(left) - least, fails)
        found += left[count - 1 : count] if count else []
        left = left[: max(0, count - 1)]
    return [*found, *left]


def _between(low: int, high: int, at_once: int) -> list[int]:
    """What to ask about next between two positions: the middle, or two that part it in three."""
    if at_once == ONE:
        return [low + (high - low - 1) // 2]
    third = (high - low) // 3
    return sorted({low + third, low + max(third, (2 * (high - low)) // 3)} - {high})


def _strides(at_once: int) -> Iterator[int]:
    """How far the next question looks ahead: twice as many things each time, or eight times where two are asked."""
    if at_once == ONE:
        yield 0
        reached = 1
        while True:
            yield reached - 1
            reached *= 2
    stride = 1
    while True:
        yield stride
        stride *= 8


def _within(first: int, end: int, fails: Holds, at_once: int) -> int:
    """The first of some things from one to the one before another that fails; the last of them is known to."""
    return first + first_failing(end - first, lambda some: fails([first + position for position in some]), at_once)

"""Finding which of many things are needed for something to hold, with few tests.

Before: things in the order of suspicion, and a question about some of them whose answer is dear: a restart of a
service. After: as few of them as were found. If more things never spoil what fewer of them mend, none of those is
needless; in any case the question was answered with yes for what is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


def fewest(most: int, helps: Callable[[int], bool]) -> int:
    """How many of the first ones are enough: found by doubling, then by halving; 0: all are not."""
    failing, size = 0, 1
    while most and not helps(min(size, most)):
        if size >= most:
            return 0
        failing, size = size, 2 * size
    size = min(size, most)
    while size - failing > 1:
        middle = (size + failing) // 2
        if helps(middle):
            size = middle
        else:
            failing = middle
    return size


def needed(
    things: Sequence[Thing], help_together: Callable[[Sequence[Thing]], bool], given: Sequence[Thing] = ()
) -> list[Thing]:
    """Those of some things that help together which are needed beside what is given: by halving (QuickXplain).

    Of n things of which k are needed, about k log(n / k) sets are asked for.
    """
    if given and help_together(given):
        return []
    if len(things) <= 1:
        return list(things)
    first, second = things[: len(things) // 2], things[len(things) // 2 :]
    of_second = needed(second, help_together, [*given, *first])
    return [*needed(first, help_together, [*given, *of_second]), *of_second]

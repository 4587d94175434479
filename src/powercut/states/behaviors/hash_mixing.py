"""Numbers of 64 bits that stand for more than they can hold: equal ones are taken for equal things.

The step is that of splitmix64. Two different things get the same number once in 2**64 times, as with image digests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
_GROW, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ALL = (1 << 64) - 1


def mix(one: int, other: int) -> int:
    """A number for a pair of numbers."""
    word = (one * _FIRST + other * _GROW + _GROW) & _ALL
    word = ((word ^ (word >> 30)) * _FIRST) & _ALL
    word = ((word ^ (word >> 27)) * _SECOND) & _ALL
    return word ^ (word >> 31)


def mix_all(one: npt.NDArray[Any], other: npt.NDArray[Any] | int) -> Words:
    """The same for many pairs at once."""
    left = one.astype(np.uint64)
    right = np.uint64(other & _ALL) if isinstance(other, int) else other.astype(np.uint64)
    with np.errstate(over="ignore"):
        word: Words = left * np.uint64(_FIRST) + right * np.uint64(_GROW) + np.uint64(_GROW)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(_FIRST)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(_SECOND)
        word ^= word >> np.uint64(31)
    return word

"""The parts of operations: which updates stand for an operation when behaviors are compared.

A call may write thousands of blocks, and a copy thousands of words. They differ in nothing but their number, so of each
kind the first, the second and the last stand for all: enough to tell a torn write from a whole one, and to tell what
comes before all of it from what comes before its end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.hash_mixing import Words, mix_all
from powercut.states.behaviors.operations import Operations
from powercut.states.behaviors.stacks import Ints

_FEW = 3
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Parts:
    """The updates that stand for others.

    Attributes:
        shown: those updates, in order.
        name: for each of them a number for its kind and whether it is the first, the second or the last.
        first: where those of each operation begin in `shown`; one more entry than there are operations.
        stands: for each update the one that stands for it.
    """

    shown: Ints
    name: Words
    first: Longs
    stands: Ints


def parts_of(operations: Operations) -> Parts:
    """The parts of all operations."""
    kind = np.frombuffer(operations.timeline.updates.kind or b"", np.int8)
    count = len(kind)
    part = np.zeros(count, np.int8)
    stands = np.arange(count, dtype=np.int32)
    owning = np.flatnonzero(operations.end > operations.first)
    sizes = (operations.end - operations.first)[owning]
    owner = np.repeat(owning.astype(np.int32), sizes)
    several = np.flatnonzero(np.repeat(sizes > 1, sizes))  # alone in its operation, an update is the first of its kind
    order = several[np.lexsort((several, kind[several], owner[several]))]
    new = np.ones(len(order), np.bool_)
    new[1:] = (kind[order][1:] != kind[order][:-1]) | (owner[order][1:] != owner[order][:-1])
    begin = np.flatnonzero(new)
    which = np.cumsum(new) - 1
    rank = np.arange(len(order)) - begin[which]
    size = np.diff(np.append(begin, len(order)))[which]
    part[order] = np.where(rank < 2, rank, np.where(rank == size - 1, _FEW - 1, -1))
    middle = part[order] < 0
    stands[order[middle]] = order[(begin[which] + 1)[middle]]
    shown = np.flatnonzero(part >= 0).astype(np.int32)
    name = mix_all(kind[shown].astype(np.int64) * _FEW + part[shown], 5)
    first = np.append(0, np.cumsum(np.bincount(owner[shown], minlength=len(operations)))).astype(np.int64)
    return Parts(shown, name, first, stands)

"""Which behaviors to test first: those that can lose one thing and keep another as no smaller one can.

Before: behaviors with their graphs, the smallest first. After: the same, first those that show something new. A
behavior shows a pair of places (by whole call stacks) if what the first one changed can be lost while what the second
one changed survived, or was said. Programs have few such pairs, and most behaviors differ in nothing but how often a
loop ran; so a path that was taken once in a long run, and on which one sync is missing, comes soon.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.states.behaviors.graph import Behavior, Graph, nodes_of
from powercut.states.behaviors.operations import Operations
from powercut.states.behaviors.parts import Parts


def new_losses(
    operations: Operations, parts: Parts, behaviors: Iterable[tuple[Behavior, Graph]]
) -> Iterator[list[int]]:
    """For each behavior its updates whose loss shows a pair of places that no behavior before it shows."""
    numbers: dict[Hashable, int] = {}
    seen: set[int] = set()
    for behavior, graph in behaviors:
        whole = operations.places(np.array(behavior.operations, np.int32), np.zeros(len(behavior.operations), np.int32))
        nodes = nodes_of(operations, parts, replace(behavior, places=tuple(whole.tolist())))
        name = np.array([numbers.setdefault(word, len(numbers)) for _, _, word in nodes], np.int64)
        update = np.array([number for number, _, _ in nodes], np.int64)
        lost, kept = np.nonzero(_may_be_lost(graph) & (update >= 0)[:, None])
        pairs = name[lost] << 32 | name[kept]
        new = set(distinct(pairs).tolist()) - seen
        yield distinct(update[lost[np.isin(pairs, list(new))]]).tolist() if new else []
        seen |= new


def _may_be_lost(graph: Graph) -> npt.NDArray[np.bool_]:
    """For each node and each node behind it, whether the first one may be lost though the other is there."""
    size = -(-len(graph.names) // 8)
    masks = np.frombuffer(b"".join(mask.to_bytes(size, "little") for mask in graph.before), np.uint8)
    before = np.unpackbits(masks.reshape(-1, size), axis=1, count=len(graph.names), bitorder="little")
    return np.triu(before.T == 0)

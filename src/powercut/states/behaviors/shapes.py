"""The shapes of runs: which behaviors are the same, told for millions of them at once.

Before: runs. After: a number for each, equal for those whose graphs are equal: the same places in the same order, the
same needs among them, the same guarantees between them and before the program went on. Needs that leave the run and may
come back to it through operations of others are told by where they lead to in time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from powercut.states.behaviors.hash_mixing import Words, mix_all
from powercut.states.behaviors.operations import Operations, Role
from powercut.states.behaviors.parts import Parts
from powercut.states.behaviors.runs import Runs, different
from powercut.states.behaviors.stacks import Ints

_AT_ONCE = 1 << 16  # positions looked at together: what bounds the memory

Longs = npt.NDArray[np.int64]


def shapes_of(operations: Operations, parts: Parts, runs: Runs) -> Words:
    """A number for the shape of each run; 0 for those that change nothing."""
    found = np.zeros(len(runs), np.uint64)
    for low, high in _batches(runs):
        found[low:high] = _shapes(operations, parts, runs, low, high)
    return found


def _batches(runs: Runs) -> Iterator[tuple[int, int]]:
    """Ranges of runs, each with about as many positions."""
    total = np.cumsum(runs.end - runs.first)
    low = 0
    while low < len(runs):
        done = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, done + _AT_ONCE)))
        yield low, high
        low = high


def spread(first: Longs, end: Longs) -> tuple[Longs, Longs]:
    """All numbers of some ranges, and which range each is of."""
    counts = end - first
    which = np.repeat(np.arange(len(first)), counts)
    return np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + first[which], which


class _Nodes:
    """The nodes of some runs, one run after the other: parts of operations, and outputs."""

    def __init__(self, operations: Operations, parts: Parts, runs: Runs, low: int, high: int) -> None:
        position, run = spread(runs.first[low:high], runs.end[low:high])
        operation = runs.order[position]
        place = runs.place[position]
        shown, owner = spread(parts.first[operation], parts.first[operation + 1])
        said = np.flatnonzero(operations.role[operation] == Role.OUTPUT)
        update = np.append(parts.shown[shown], np.full(len(said), -1, np.int32))
        owner = np.append(owner, said)
        order = np.argsort(owner, kind="stable")
        owner, self.update = owner[order], update[order]
        named = mix_all(place[owner], np.append(parts.name[shown], np.zeros(len(said), np.uint64))[order])
        self.run: Longs = run[owner]
        self.place: Words = named
        self.issued: Longs = 2 * operations.event[operation[owner]].astype(np.int64)
        self.count = high - low
        self.first = np.searchsorted(self.run, np.arange(self.count + 1))
        changes = np.flatnonzero(operations.role[operation] == Role.CHANGE)
        ends = np.full(self.count, -1, np.int64)
        ends[run[changes]] = operations.next_step[operation[changes]]  # the last one counts
        self.ends: Longs = ends


def _shapes(operations: Operations, parts: Parts, runs: Runs, low: int, high: int) -> Words:
    nodes, timeline = _Nodes(operations, parts, runs, low, high), operations.timeline
    change = np.flatnonzero(nodes.update >= 0)
    update, run = nodes.update[change], nodes.run[change]
    width = timeline.end + 2
    durable = np.minimum(timeline.guaranteed[update], width - 1)
    behind = np.searchsorted(nodes.run * width + nodes.issued, run * width + durable) - nodes.first[run]
    word = nodes.place.copy()
    word[change] = mix_all(word[change], 2 * behind + (durable <= nodes.ends[run]))
    with np.errstate(over="ignore"):
        np.add.at(word, *_needs(operations, parts, nodes, change, run))
        rank = np.arange(len(word)) - nodes.first[nodes.run]
        total = np.zeros(nodes.count, np.uint64)
        np.add.at(total, nodes.run, mix_all(word, rank))
    empty = np.bincount(run, minlength=nodes.count) == 0
    total = mix_all(total, np.bincount(nodes.run, minlength=nodes.count))
    total[empty] = 0
    return total


def _needs(operations: Operations, parts: Parts, nodes: _Nodes, change: Longs, run: Longs) -> tuple[Longs, Words]:
    """For each need of a node within its run: the node, and a number for where the need leads."""
    updates = operations.timeline.updates
    firsts = np.frombuffer(updates.first_need, np.int64)
    update = nodes.update[change]
    number, user = spread(firsts[update], firsts[update + 1])
    if not len(number):
        return np.empty(0, np.int64), np.empty(0, np.uint64)
    need: Ints = parts.stands[np.frombuffer(updates.needs, np.int32)[number]]
    size = np.int64(len(updates) + 1)
    keys = run * size + update  # updates of a run stand in order, so these are sorted
    target = run[user] * size + need
    where = np.searchsorted(keys, target)
    begin = np.searchsorted(keys, run * size)  # the first update of each run among those of all
    inside = (where < len(keys)) & (keys[np.minimum(where, len(keys) - 1)] == target)
    relative = where - begin[user]
    within = (need >= update[begin][user]) & (need != update[user])
    pairs = different((user[within] * (len(update) + 1) + relative[within]) * 2 + inside[within])
    user, rest = np.divmod(pairs >> 1, len(update) + 1)
    return change[user], mix_all(rest * 2 + (pairs & 1), 7)

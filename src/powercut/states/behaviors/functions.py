"""Behaviors by function (Pathfinder, section 4.1): operations that one function makes belong together.

Before: operations with their call stacks. After: runs of operations, level by level:

  - Algorithm 1: along each thread, operations whose neighbours have the same longest common prefix of backtraces;
  - the operations of a function and of all it calls, where at least two of those have any, from the leaves of the
    call-stack tree upwards. An operation belongs to the functions on its own stack: Algorithm 1 alone gives the last
    operation of a function to its caller if it is the only one after another call returned;
  - where several threads or processes change something: all of them together, because a task may be shared.

On every level, what lies far apart in time is split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.states.behaviors.operations import Operations, Role
from powercut.states.behaviors.runs import Runs, cut, in_time, ranges
from powercut.states.behaviors.stacks import Ints

HIGHEST = 6  # levels above Algorithm 1; Pathfinder's own limit
REACH = 10  # operations between two that still belong together; Pathfinder's own limit
_AT_ONCE = 1 << 16  # pairs of stacks compared together

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]


def function_runs(operations: Operations) -> Iterator[Runs]:
    """The behaviors by function, one level after the other."""
    if not len(operations):
        return
    order = operations.by_thread
    starts, depth = segments(operations)
    segment = np.cumsum(starts) - 1
    yield _runs(operations, "function", order, segment, depth[starts][segment])
    nodes, node = np.unique(_functions(operations, order), return_inverse=True)
    for groups in _levels(operations, nodes):
        group = groups[node]
        member = np.flatnonzero(group >= 0)
        member = member[np.argsort(group[member], kind="stable")]
        if len(member):
            depth_of = operations.tree.level[group[member] % len(operations.tree.parent)]
            yield _runs(operations, "function with what it calls", order[member], group[member], depth_of)
    if len(distinct(operations.thread[operations.role == Role.CHANGE])) > 1:
        every = np.arange(len(operations), dtype=np.int32)
        yield _runs(operations, "all threads", every, np.zeros(len(every), np.int64), np.zeros(len(every), np.int32))


def _runs(operations: Operations, what: str, order: Ints, group: Longs, depth: Ints) -> Runs:
    """One level: operations by group, and how deep the function of each group is."""
    tree, stack = operations.tree, operations.stack[order]
    site = tree.nodes[stack, np.minimum(depth + 1, tree.depth[stack])].astype(np.int64)
    first, end = ranges(in_time(order.astype(np.int64), group, REACH))
    return cut(Runs(what, order, operations.places(order, depth), site, first, end))


def segments(operations: Operations) -> tuple[Bools, Ints]:
    """Algorithm 1: where segments begin along the threads, and how deep the function is of the one that begins there.

    The common prefixes of an operation with its two neighbours are both on its own stack, so one is above the other
    and their depths tell which. An operation whose function ends is followed by one that is in no segment yet: there
    the next one begins, whatever its depth; so of prefixes that get shorter in a row only every second ends one.
    """
    order, tree = operations.by_thread, operations.tree
    stack, thread = operations.stack[order], operations.thread[order]
    depth = np.maximum(tree.depth[stack] - 1, 0)  # of an operation that stays alone
    same = thread[1:] == thread[:-1]
    pairs = np.stack([stack[:-1], stack[1:]], axis=1)[same]
    depth[:-1][same] = _common(operations, pairs)
    alone = np.append(~same, True)  # no neighbour behind it
    begins = np.append(True, ~same)  # of a thread
    shorter = np.zeros(len(order), np.bool_)
    deeper = np.zeros(len(order), np.bool_)
    shorter[1:] = depth[1:] < depth[:-1]
    deeper[1:] = depth[1:] > depth[:-1]
    shorter[begins | alone] = deeper[begins | alone] = False
    position = np.arange(len(order))
    in_a_row = position - np.maximum.accumulate(np.where(shorter, -1, position))
    before = np.append(0, in_a_row[:-1])
    before[begins] = 0
    inside = before % 2 == 0  # the operation is in a segment already
    starts = begins | ~inside | (deeper & inside)
    return starts, depth


def _common(operations: Operations, pairs: npt.NDArray[np.int32]) -> Ints:
    """The depth of the function that pairs of stacks have in common; each different pair is compared once."""
    keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
    different, which = np.unique(keys, return_inverse=True)
    found = [np.empty(0, np.int32)]
    for begin in range(0, len(different), _AT_ONCE):
        some = different[begin : begin + _AT_ONCE]
        found.append(operations.tree.common((some >> 32).astype(np.int32), (some & 0xFFFFFFFF).astype(np.int32)))
    return np.concatenate(found)[which]


def _functions(operations: Operations, order: Ints) -> Longs:
    """The function that made each operation: a node of the call-stack tree of its thread, as one number."""
    tree, stack = operations.tree, operations.stack[order]
    _, thread = np.unique(operations.thread[order], return_inverse=True)
    return thread.astype(np.int64) * len(tree.parent) + tree.nodes[stack, np.maximum(tree.depth[stack] - 1, 0)]


def _levels(operations: Operations, nodes: Longs) -> Iterator[Longs]:
    """For each height above the leaves: for each function that makes operations the one at that height above it, or -1.

    Only functions count that group anything: that call two which make operations, or one and make some themselves.
    """
    above = _compact(operations, nodes)
    height = _heights(above)
    for wanted in range(1, min(HIGHEST, max(height.values(), default=0)) + 1):
        groups = np.full(len(nodes), -1, np.int64)
        for index, node in enumerate(nodes.tolist()):
            while node >= 0 and height[node] < wanted:
                node = above[node]
            if node >= 0 and height[node] == wanted:
                groups[index] = node
        yield groups


def too_high(operations: Operations) -> int:
    """How many functions group others and are not looked at, because they are too far above those."""
    nodes = distinct(_functions(operations, operations.by_thread))
    return sum(height > HIGHEST for height in _heights(_compact(operations, nodes)).values())


def _heights(above: dict[int, int]) -> dict[int, int]:
    """How far each function is above the furthest that it groups."""
    height = dict.fromkeys(above, 0)
    for node in sorted(above, reverse=True):  # what is called has a larger number than its caller
        if above[node] >= 0:
            height[above[node]] = max(height[above[node]], height[node] + 1)
    return height


def _compact(operations: Operations, nodes: Longs) -> dict[int, int]:
    """The call-stack tree without functions that group nothing: node -> the next one above it, or -1."""
    parent, size = operations.tree.parent, len(operations.tree.parent)
    own = set(nodes.tolist())
    present: set[int] = set()
    for node in own:
        while node not in present:
            present.add(node)
            if node % size:
                node += int(parent[node % size]) - node % size
    above: dict[int, int] = {}
    below: dict[int, list[int]] = defaultdict(list)
    for node in sorted(present, reverse=True):
        kept = below.pop(node, [])
        if node in own or len(kept) > 1:
            above.update(dict.fromkeys(kept, node))
            kept = [node]
        if node % size:
            below[node + int(parent[node % size]) - node % size].extend(kept)
        else:
            above.update(dict.fromkeys(kept, -1))
    return above

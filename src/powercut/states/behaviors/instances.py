"""Behaviors by instance (Pathfinder, section 4.2): stores to one object between two moments at which it was durable.

Before: stores through mappings, with a type, an instance and a field each (`layouts.py`). After: runs of stores to one
instance, one for each epoch. A new epoch begins before a store

  1. if all earlier stores to the instance are durable and the field was stored to in this epoch already, or
  2. if since the last store to the instance another one was stored to, and all of that is durable by now.

"Durable" means guaranteed when the store is issued. Both criteria compare moments of guarantees, so only the order of
stores and guarantees matters: times are the number of guarantees so far.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.model.memory import LINE
from powercut.states.behaviors.hash_mixing import mix_all
from powercut.states.behaviors.layouts import Known, Layout, layout_of
from powercut.states.behaviors.operations import Operations
from powercut.states.behaviors.runs import Runs, cut, different, ranges

_LINES = 0  # the type of cache lines, where nothing else is known

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]


def instance_runs(operations: Operations, known: Known | None = None) -> Runs | None:
    """The behaviors by instance; None where nothing was stored through mappings."""
    stores = np.flatnonzero(operations.stores).astype(np.int32)
    if not len(stores):
        return None
    layout = _layout(operations, stores, known or {})
    order = np.lexsort((stores, layout.instance))
    issued = 2 * operations.event[stores].astype(np.int64)
    starts = epochs(layout, issued, operations.guaranteed[stores])
    first, end = ranges(starts[order])
    place = mix_all(mix_all(layout.type, 3), layout.offset)
    return cut(Runs("instance", stores[order], place[order], layout.offset[order], first, end))


def _layout(operations: Operations, stores: npt.NDArray[np.int32], known: Known) -> Layout:
    updates = operations.timeline.updates
    first = operations.first[stores]
    file = np.frombuffer(updates.obj, np.int32)[first].astype(np.int64)
    address = np.frombuffer(updates.start, np.int64)[first]
    place = operations.tree.place[operations.stack[stores]].astype(np.int64)
    unknown = operations.stack[stores] == 0
    # Without stacks, cache lines are instances and what is stored at one offset of them is a field.
    place[unknown] = -1 - address[unknown] % LINE
    following = np.full(len(stores), -1, np.int64)
    by_thread = np.lexsort((stores, operations.thread[stores]))
    same = operations.thread[stores][by_thread][1:] == operations.thread[stores][by_thread][:-1]
    following[by_thread[:-1][same]] = by_thread[1:][same]
    lines = {number: (_LINES, -1 - number, LINE) for number in distinct(place[unknown]).tolist()}
    return layout_of(place, file, address, following, {**known, **lines})


def epochs(layout: Layout, issued: Longs, durable: Longs) -> Bools:
    """Which stores begin a new epoch of their instance; stores stand in the order in which they were issued."""
    moments = different(durable)
    now = np.searchsorted(moments, issued, side="right")  # how many guarantees there were when it was issued
    then = np.searchsorted(moments, durable, side="left") + 1  # how many there are once it is durable
    order = np.lexsort((np.arange(len(issued)), layout.instance))
    instance = layout.instance[order]
    begins = np.append(True, instance[1:] != instance[:-1])
    before = np.append(-1, order[:-1])  # the store before it, to the same instance
    before[begins] = -1
    all_then = _highest_so_far(instance, then[order])
    durable_before = np.append(0, all_then[:-1]) <= now[order]
    interrupted = _interrupted(order, before, begins, now, all_then)
    last_same = _last_with_field(order, instance, layout.offset[order])
    starts = begins | interrupted
    again = np.flatnonzero(durable_before & ~begins & (last_same >= 0) | starts)
    epoch = 0
    for position in again.tolist():
        if starts[position]:
            epoch = position
        elif last_same[position] >= epoch:
            starts[position] = True
            epoch = position
    found = np.empty(len(order), np.bool_)
    found[order] = starts
    return found


def _highest_so_far(group: Longs, values: Longs) -> Longs:
    """The highest value so far within each group; groups stand one behind the other."""
    number = np.cumsum(np.append(0, group[1:] != group[:-1]))
    width = int(values.max(initial=0)) + 1
    found: Longs = np.maximum.accumulate(number * width + values) - number * width
    return found


def _last_with_field(order: Longs, instance: Longs, field: Longs) -> Longs:
    """By position: the last position before it with the same instance and field, -1 if there is none."""
    position = np.arange(len(order))
    by_field = np.lexsort((position, field, instance))
    same = (instance[by_field][1:] == instance[by_field][:-1]) & (field[by_field][1:] == field[by_field][:-1])
    found = np.full(len(order), -1, np.int64)
    found[by_field[1:][same]] = by_field[:-1][same]
    return found


def _interrupted(order: Longs, before: Longs, begins: Bools, now: Longs, all_then: Longs) -> Bools:
    """By position: whether another instance was stored to since the store before, and is durable as a whole.

    The last store to an instance between two moments stands for it until the next one: from when all is durable on, it
    interrupts whatever was stored to before it and is now stored to again. So the stores are passed once, with those
    that interrupt in a heap, the latest first.
    """
    following = np.append(order[1:], len(order))
    following[np.append(begins[1:], True)] = len(order)
    last = np.flatnonzero((following == len(order)) | (now[np.minimum(following, len(order) - 1)] > now[order]))
    ready = np.maximum(np.searchsorted(now, all_then[last], side="left"), order[last] + 1)
    by_ready = np.argsort(ready, kind="stable")
    waiting = list(zip(*(c[by_ready].tolist() for c in (ready, order[last], following[last])), strict=True))[::-1]
    asked = np.flatnonzero((before >= 0) & (now[order] > now[before]))
    asked = asked[np.argsort(order[asked], kind="stable")]
    found = np.zeros(len(order), np.bool_)
    heap: list[tuple[int, int]] = []
    for position, store, previous in zip(*(c.tolist() for c in (asked, order[asked], before[asked])), strict=True):
        while waiting and waiting[-1][0] <= store:
            _, last_store, until = waiting.pop()
            heappush(heap, (-last_store, until))
        while heap and heap[0][1] <= store:
            heappop(heap)
        found[position] = bool(heap) and -heap[0][0] > previous
    return found

"""Synchronization inconsistencies: lock words in persistent memory that a crash can leave taken.

The threads that hold locks do not survive a power cut; lock words in a mapped file do, also those that nobody ever
flushed, because a cache line may be written back at any time. So each way to take a lock (its call stack) gives one
crash state: what is guaranteed at that moment, and the word as it was taken. Whether that does harm is for the recovery
to show (`validation`): it must bring the word back to what it was before, or to what the program says that a free one
holds (`pc_sync_var`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powercut.image.state_image import StateImage
from powercut.quick_dataclass import dataclass
from powercut.race.accesses import Accesses, Numbers
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.trace.events import WORD
from powercut.trace.layout import Kind, Order

_TAKEN = (Order.LOCK, Order.LOCK_SHARED)


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock word that a crash can leave taken.

    Attributes:
        store: the event that took it.
        update: the same, as an update.
        free: its bytes before, when nobody held it.
        state: what is guaranteed when it is taken, and the word as taken.
    """

    store: int
    update: int
    free: bytes
    state: State


def held_locks(timeline: Timeline, accesses: Accesses) -> Iterator[HeldLock]:
    """One for each call stack that takes a lock in persistent memory."""
    trace = accesses.trace
    orders = trace.of_kind(Kind.ORDER)
    taken = np.isin(trace.at("extra", orders), _TAKEN) & (trace.at("inode", orders) != 0)
    declared, freed = _declared(accesses, orders), _freed(accesses, orders)
    stacks: set[int] = set()
    for event in orders[taken].tolist():
        store = accesses.last_store(accesses.field("inode", event), accesses.field("offset", event), event)
        if store is None or accesses.field("stack", store) in stacks:
            continue
        place = accesses.field("inode", event), accesses.field("offset", event)
        if place not in freed and place not in declared:
            continue  # a flag that is set once is no lock
        found = _held(timeline, store, declared.get(place))
        if found is not None:
            stacks.add(accesses.field("stack", store))
            yield found


def _freed(accesses: Accesses, orders: Numbers) -> set[tuple[int, int]]:
    """Words that were freed at some time, by inode and offset."""
    unlocks = orders[accesses.trace.at("extra", orders) == Order.UNLOCK].tolist()
    return {(accesses.field("inode", event), accesses.field("offset", event)) for event in unlocks}


def _declared(accesses: Accesses, orders: Numbers) -> dict[tuple[int, int], bytes]:
    """What lock words hold when they are free, as the program says: by inode and offset."""
    found = {}
    for event in orders[accesses.trace.at("extra", orders) > Order.SYNC_VAR].tolist():
        size = min(accesses.field("extra", event) - Order.SYNC_VAR, WORD)
        value = accesses.field("length", event).to_bytes(WORD, "little")[:size]
        found[accesses.field("inode", event), accesses.field("offset", event)] = value
    return found


def _held(timeline: Timeline, store: int, declared: bytes | None) -> HeldLock | None:
    """The state in which a lock was taken and its holder is gone; None if the store changed nothing that lasts."""
    updates = timeline.updates_of(store)
    if not updates:
        return None
    update, columns = updates[0], timeline.updates
    place = columns.obj[update], columns.start[update], columns.length[update]
    before = StateImage(timeline, State(2 * store - 1, Base.ISSUED, frozenset())).read(*place)
    after = StateImage(timeline, State(2 * store, Base.ISSUED, frozenset())).read(*place)
    free = declared if declared is not None and len(declared) == len(before) else before
    if free == after:
        return None
    return HeldLock(store, update, free, timeline.with_only([update], 2 * store))

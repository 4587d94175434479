"""Predicted pairs, named as on the board: what could race according to one run, for the queue of interleavings.

A store under a lock cannot be read while the lock is taken, so holding its thread there shows nothing. If the lock word
lies in persistent memory and is freed before the store is guaranteed, the place to hold it is where it frees the lock:
who takes the lock next reads what is not durable. Lock words by themselves are read and stored before they are durable
all the time; pairs about them alone come last.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from powercut.quick_dataclass import dataclass
from powercut.race.accesses import Accesses
from powercut.race.board import Site, module_hash
from powercut.race.prediction import Prediction, predict
from powercut.states.timeline import Timeline
from powercut.trace.events import WORD
from powercut.trace.layout import FRAME, Kind, Order, TableKind
from powercut.trace.reader import Trace

_STORES = 32  # executions of one store that are looked at


@dataclass(frozen=True, slots=True)
class Forecast:
    """Loads that could see what stores have not made durable; in how many words, and whether that is likely."""

    loads: frozenset[Site]
    stores: frozenset[Site]
    known: bool
    words: int


def forecasts(timeline: Timeline) -> list[Forecast]:
    """All pairs that could race, and where locks are freed too early; code that has no name is left out."""
    locks = _Locks(timeline)
    found = []
    for pair in predict(timeline):
        load, store = locks.site_at(pair.load), locks.site_at(pair.store)
        if load is None or store is None:
            continue
        about_locks = pair.words <= locks.words.keys()
        found.append(Forecast(frozenset({load}), frozenset({store}), pair.known and not about_locks, len(pair.words)))
        found += [] if about_locks else locks.freed_early(pair)
    return found


def store_counts(trace: Trace) -> dict[Site, int]:
    """How often each store was executed, by the thread that did so most often."""
    stores = trace.of_kind(Kind.STORE)
    pairs = np.stack([trace.at("stack", stores), trace.at("tid", stores)], axis=1)
    found: Counter[tuple[Site, int]] = Counter()
    for (stack, thread), times in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
        site = _site(trace, int(stack))
        if site is not None:
            found[site, int(thread)] += int(times)
    most: dict[Site, int] = {}
    for (site, _), times in found.items():
        most[site] = max(times, most.get(site, 0))
    return most


@dataclass(slots=True)
class _Locks:
    """The lock words of one trace.

    Attributes:
        words: inode and offset of each, with the events that take and free it.
    """

    timeline: Timeline
    words: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _accesses: Accesses = field(init=False)

    def __post_init__(self) -> None:
        self._accesses = Accesses(self.timeline.trace)
        trace = self.timeline.trace
        orders = trace.of_kind(Kind.ORDER)
        used = np.isin(trace.at("extra", orders), (Order.LOCK, Order.UNLOCK)) & (trace.at("inode", orders) != 0)
        for event in orders[used].tolist():
            word = self._field("inode", event), self._field("offset", event) // WORD * WORD
            self.words.setdefault(word, []).append(event)

    def freed_early(self, pair: Prediction) -> Iterator[Forecast]:
        """Where the threads of a store free a lock before the store is guaranteed, and who takes it."""
        found: dict[tuple[int, int], set[Site]] = {}
        for store in self._stores_at(pair.store):
            update = next(iter(self.timeline.updates_of(store)), None)
            until = self.timeline.updates.guaranteed[update] // 2 if update is not None else 0
            for word, event in self._first_freed(store, until):
                site = self._store_of(event, Order.UNLOCK, word)
                found.setdefault(word, set()).update([site] if site is not None else [])
        stores = frozenset(site for sites in found.values() for site in sites)
        takers = {self._store_of(event, Order.LOCK, word) for word in found for event in self.words[word]}
        loads = frozenset(site for site in takers if site is not None)
        if stores and loads:
            yield Forecast(loads, stores, True, len(pair.words))

    def _stores_at(self, example: int) -> list[int]:
        """Stores of the same call stack as one of them, not more than can be looked at."""
        stores = self.timeline.trace.of_kind(Kind.STORE)
        same = self.timeline.trace.at("stack", stores) == self._field("stack", example)
        found: list[int] = stores[same][:_STORES].tolist()
        return found

    def _first_freed(self, store: int, until: int) -> Iterator[tuple[tuple[int, int], int]]:
        """Each lock word that the thread of a store frees between two events, and where it first does."""
        thread = self._field("tid", store)
        for word, events in self.words.items():
            between = events[bisect_right(events, store) : bisect_left(events, until)]
            freed = (e for e in between if self._field("tid", e) == thread and self._field("extra", e) == Order.UNLOCK)
            event = next(freed, None)
            if event is not None:
                yield word, event

    def _store_of(self, event: int, order: Order, word: tuple[int, int]) -> Site | None:
        """The instruction that took or freed a lock word."""
        if self._field("extra", event) != order:
            return None
        store = self._accesses.last_store(*word, event)
        return self.site_at(store) if store is not None else None

    def site_at(self, event: int) -> Site | None:
        """The instruction of an event, as the board has it."""
        return _site(self.timeline.trace, self._field("stack", event))

    def _field(self, name: str, event: int) -> int:
        return self._accesses.field(name, event)


def _site(trace: Trace, stack: int) -> Site | None:
    frames = np.frombuffer(trace.entry(TableKind.STACK, stack) if stack else b"", FRAME)
    if not len(frames) or not 0 < int(frames[0]["ref"]) <= len(trace.table(TableKind.MODULE)):
        return None
    module = trace.entry(TableKind.MODULE, int(frames[0]["ref"])).partition(b"\0")[0]
    return module_hash(module), int(frames[0]["addr"])

"""Pairs that could race, from one run that need not have shown them.

Before: a trace of race mode with all loads, and its timeline. After: pairs of a store and a load of another thread:
some schedule could let the load see what the store wrote while a power cut could still take it away. For a store
that is from its own moment to its guarantee: its *window*. A load cannot fall into it if

  - it is before the store, or after the guarantee, in every schedule (`threads.py`), or
  - the storing thread keeps a lock through the whole window that the loading thread has at the load. A lock given back
    between the store and its fence protects nothing: that is what race detectors that know no persistence miss.

A guarantee that another thread gave by a flush of its own does not count: in another schedule that may come before
the store. Values are not looked at: that a pointer is not published before what it points at is guaranteed is not seen
here, and such pairs are predicted in vain. So pairs come in an order: first those of words that some other thread knew
before the store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.quick_dataclass import dataclass
from powercut.race.threads import Locks, Threads, exclude
from powercut.states.state import NEVER
from powercut.states.timeline import Timeline
from powercut.trace.layout import FRAME, Kind, TableKind
from powercut.trace.reader import Trace

Numbers = npt.NDArray[np.int64]
Site = tuple[int, int]  # a module of the trace, and the address in it
_WORD = 8
_UNKNOWN: Site = (0, 0)


@dataclass(slots=True)
class Prediction:
    """One pair of sites.

    Attributes:
        store, load: events that are examples of it.
        words: (inode, offset) of the words it is about.
        known: another thread had used one of the words before the store: it is shared, whatever pointers say.
        shown: in this run a load fell into a window.
    """

    store_site: Site
    load_site: Site
    store: int
    load: int
    words: set[tuple[int, int]] = field(default_factory=set)
    known: bool = False
    shown: bool = False


@dataclass(frozen=True, slots=True)
class _Stores:
    """Stores of one word that are alike: what a schedule can do with one of them, it can do with all."""

    site: Site
    thread: int
    mask: int
    segment: int
    guarantee: int  # the segment of the fence, -1: none
    kept: Locks  # locks not given back before the guarantee


@dataclass(frozen=True, slots=True)
class _Loads:
    """Loads of one word that are alike."""

    site: Site
    thread: int
    mask: int
    segment: int
    held: Locks


def predict(timeline: Timeline) -> list[Prediction]:
    """All pairs that could race, the most promising first."""
    return _Pass(timeline).pairs()


def sites_of(trace: Trace, stacks: Sequence[int]) -> dict[int, Site]:
    """For each stack the instruction itself."""
    found: dict[int, Site] = {}
    for stack in stacks:
        frames = np.frombuffer(trace.entry(TableKind.STACK, stack) if stack else b"", FRAME)
        found[stack] = (int(frames[0]["ref"]), int(frames[0]["addr"])) if len(frames) else _UNKNOWN
    return found


class _Accesses:
    """Columns of some events that touch words of mapped files."""

    def __init__(self, trace: Trace, events: Numbers) -> None:
        self._trace = trace
        self.events = events
        self.inodes = trace.at("inode", events).astype(np.int64)
        self.offsets = trace.at("offset", events).astype(np.int64)
        self.lengths = trace.at("length", events).astype(np.int64)
        self.threads = trace.at("tid", events)
        self.stacks = trace.at("stack", events)

    def only(self, wanted: npt.NDArray[np.bool_]) -> _Accesses:
        """Some of them."""
        return _Accesses(self._trace, self.events[wanted])

    @cached_property
    def masks(self) -> Numbers:
        """Which bytes of its word each one touches."""
        return ((1 << self.lengths) - 1) << (self.offsets % _WORD)

    @cached_property
    def words(self) -> npt.NDArray[np.void]:
        """Inode and aligned offset, as one value."""
        found = np.empty(len(self.events), [("inode", np.int64), ("word", np.int64)])
        found["inode"], found["word"] = self.inodes, self.offsets // _WORD * _WORD
        return found


class _Pass:
    """The pass over one trace."""

    def __init__(self, timeline: Timeline) -> None:
        trace = timeline.trace
        stored = np.flatnonzero(trace.at("kind", timeline.event.astype(np.int64)) == Kind.STORE)
        self._trace = trace
        self._threads = Threads(trace)
        self._stores = _Accesses(trace, timeline.event[stored].astype(np.int64))
        self._loads = _Accesses(trace, trace.of_kind(Kind.LOAD))
        self._guaranteed = timeline.guaranteed[stored]
        self._keep_shared()
        used = distinct(np.concatenate((self._stores.stacks, self._loads.stacks)))
        self._sites = sites_of(trace, used.tolist())

    def pairs(self) -> list[Prediction]:
        """All pairs, the most promising first."""
        found: dict[tuple[Site, Site], Prediction] = {}
        store_kinds, load_kinds = self._group_stores(), self._group_loads()
        for word, stores in store_kinds.items():
            for some, store in stores.items():
                for others, load in load_kinds.get(word, {}).items():
                    if self._could_meet(some, others):
                        key = (some.site, others.site)
                        pair = found.setdefault(key, Prediction(*key, *self._example(store[0], load[0])))
                        pair.words.add(word)
                        pair.known |= self._known_before(word, store[-1], some.thread)
                        pair.shown |= self._met(store, load)
        return sorted(found.values(), key=lambda pair: (not pair.known, -len(pair.words), pair.store))

    def _example(self, store: int, load: int) -> tuple[int, int]:
        """The events of a store and a load."""
        return int(self._stores.events[store]), int(self._loads.events[load])

    def _could_meet(self, stores: _Stores, loads: _Loads) -> bool:
        if stores.thread == loads.thread or not stores.mask & loads.mask:
            return False
        segments = self._threads.segments
        load = segments[loads.segment]
        if load.before(segments[stores.segment]):
            return False
        if stores.guarantee >= 0 and segments[stores.guarantee].before(load):
            return False
        return not exclude(stores.kept, loads.held)

    def _met(self, stores: list[int], loads: list[int]) -> bool:
        """Whether a load came after a store and before its guarantee."""
        issued = self._stores.events[stores]
        until = self._guaranteed[stores]
        times = 2 * self._loads.events[loads]
        at = np.searchsorted(issued, times // 2, side="left") - 1  # the last store before each load
        return bool(((at >= 0) & (until[np.maximum(at, 0)] > times)).any())

    def _known_before(self, word: tuple[int, int], store: int, thread: int) -> bool:
        event = int(self._stores.events[store])
        return any(other != thread and first < event for other, first in self._first_uses[word].items())

    @cached_property
    def _first_uses(self) -> dict[tuple[int, int], dict[int, int]]:
        """For each word, when each thread first used it."""
        first: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        for accesses in (self._stores, self._loads):
            columns = (accesses.words.tolist(), accesses.threads.tolist(), accesses.events.tolist())
            for word, thread, event in zip(*columns, strict=True):
                first[word][thread] = min(event, first[word].get(thread, event))
        return first

    def _keep_shared(self) -> None:
        """Leave only accesses of words that one thread stores and another uses; most words are of one thread alone."""
        both = (self._stores, self._loads)
        numbers = np.unique(np.concatenate([part.words for part in both]), return_inverse=True)[1]
        threads = np.unique(np.concatenate([part.threads for part in both]), return_inverse=True)[1]
        first = np.full(int(numbers.max(initial=-1)) + 1, -1)
        first[numbers] = threads  # of some access of each word
        shared, stored = np.zeros(len(first), np.bool_), np.zeros(len(first), np.bool_)
        shared[numbers[first[numbers] != threads]] = True
        stored[numbers[: len(self._stores.events)]] = True
        keep = (shared & stored)[numbers]
        of_stores, of_loads = np.split(keep, [len(self._stores.events)])
        self._guaranteed = self._guaranteed[of_stores]
        self._stores, self._loads = self._stores.only(of_stores), self._loads.only(of_loads)

    def _group_stores(self) -> dict[tuple[int, int], dict[_Stores, list[int]]]:
        """Stores of shared words by what a schedule can do with them."""
        grouped: dict[tuple[int, int], dict[_Stores, list[int]]] = defaultdict(lambda: defaultdict(list))
        for i, (word, kind) in enumerate(zip(self._stores.words.tolist(), self._kinds_of_stores(), strict=True)):
            grouped[word][kind].append(i)
        return grouped

    def _kinds_of_stores(self) -> Iterator[_Stores]:
        stores, threads = self._stores, self._threads
        segments, holdings = threads.locate(stores.threads, stores.events)
        fences = np.where(self._guaranteed < NEVER, self._guaranteed // 2, 0)
        lasting = (self._guaranteed >= NEVER) | (self._trace.at("tid", fences) != stores.threads)
        ends = np.where(lasting, np.iinfo(np.int64).max, fences)
        fence_segments, at_end = threads.locate(stores.threads, ends)
        kept: dict[tuple[int, int], Locks] = {}
        columns = (stores.stacks, stores.threads, stores.masks, segments, np.where(lasting, -1, fence_segments))
        for stack, thread, mask, segment, fence, holding, later in _rows(*columns, holdings, at_end):
            if (holding, later) not in kept:
                kept[holding, later] = threads.holdings[holding].throughout(threads.holdings[later])
            yield _Stores(self._sites[stack], thread, mask, segment, fence, kept[holding, later])

    def _group_loads(self) -> dict[tuple[int, int], dict[_Loads, list[int]]]:
        """Loads of shared words by what a schedule can do with them."""
        loads, holdings = self._loads, self._threads.holdings
        held = {number: holdings[number].throughout(holdings[number]) for number in range(len(holdings))}
        grouped: dict[tuple[int, int], dict[_Loads, list[int]]] = defaultdict(lambda: defaultdict(list))
        segments, holding = self._threads.locate(loads.threads, loads.events)
        rows = _rows(loads.stacks, loads.threads, loads.masks, segments, holding)
        for i, (word, row) in enumerate(zip(loads.words.tolist(), rows, strict=True)):
            stack, thread, mask, segment, having = row
            grouped[word][_Loads(self._sites[stack], thread, mask, segment, held[having])].append(i)
        return grouped


def _rows(*columns: npt.NDArray[Any]) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)

"""Loads, stores and effects of one campaign, from its trace: what read whose bytes, and what it was used for.

Before: a trace of race mode, in which CANDIDATE events are loads of bytes that were not guaranteed, and EFFECT events
say which store or call depends on which of them. After: `Dependence` values, each one load, the stores whose bytes it
read, and one effect. Nothing here knows about models: whether bytes could still be lost is asked of a timeline
(`inconsistencies`). Events that do not fit together are left out, because nothing in a trace is trusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from powercut.quick_dataclass import dataclass
from powercut.trace.events import WORD
from powercut.trace.layout import Effect, Flag, Kind
from powercut.trace.reader import Trace

Numbers = npt.NDArray[np.int64]
_CALLS = (Kind.OUTPUT, Kind.WRITE)  # what an effect outside of memory can be
_HOW = Effect.VALUE | Effect.ADDRESS | Effect.OUTPUT
_INSTANCES = 16  # of one dependence between the same stacks that are looked at: each may be the one that is not in time


@dataclass(frozen=True, slots=True)
class Dependence:
    """Something durable that depends on bytes that were read before they were guaranteed.

    Attributes:
        load: the CANDIDATE event.
        stores: the events whose bytes it read, the latest first.
        effect: the events of the store or call that depends on it, in order.
        how: by its value, by its address, or as an output.
    """

    load: int
    stores: tuple[int, ...]
    effect: tuple[int, ...]
    how: Effect


class Accesses:
    """What the trace of a campaign says about loads, stores and effects."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.candidates: Numbers = trace.of_kind(Kind.CANDIDATE)

    def field(self, name: str, event: int) -> int:
        """One field of one event."""
        return int(self.trace.events[name][event])

    def is_between_threads(self, load: int, stores: tuple[int, ...]) -> bool:
        """Whether a load read what another thread had stored last."""
        return self.field("tid", load) != self.field("tid", stores[0])

    def read_pairs(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Each candidate, and the stores whose bytes it read."""
        for load in self.candidates.tolist():
            stores = self._writers(load)
            if stores:
                yield load, stores

    def dependences(self) -> Iterator[Dependence]:
        """All of them, those of the same call stacks at most a few times, in the order of effects."""
        seen: Counter[tuple[int, ...]] = Counter()
        for event in self.trace.of_kind(Kind.EFFECT).tolist():
            how = Effect(self.field("length", event)) & _HOW
            load = self._candidate_of.get((self.field("pid", event), self.field("extra", event)))
            effect = self._effect(event, how)
            if load is None or load > event or not effect:
                continue
            key = (self.field("stack", load), self.field("stack", effect[0]), int(how))
            seen[key] += 1
            stores = self._writers(load) if seen[key] <= _INSTANCES else ()
            if stores:
                yield Dependence(load, stores, effect, how)

    def last_store(self, inode: int, offset: int, event: int) -> int | None:
        """The last store into a word that the thread of an event made before it."""
        stores = self._stores_to(inode, offset // WORD)
        threads = self.trace.events["tid"]
        mine = stores[(stores < event) & (threads[stores] == threads[event])]
        return int(mine[-1]) if len(mine) else None

    def stores_like(self, store: int) -> list[int]:
        """A store into the same word for each call stack that makes one."""
        stores = self._stores_to(self.field("inode", store), self.field("offset", store) // WORD)
        _, first = np.unique(self.trace.events["stack"][stores], return_index=True)
        found: list[int] = stores[first].tolist()
        return found

    def occurrence(self, store: int) -> int:
        """Which store of its call stack in its thread it is, from 1."""
        before = self._stores[: int(np.searchsorted(self._stores, store)) + 1]
        threads, stacks = self.trace.events["tid"], self.trace.events["stack"]
        return int(((threads[before] == threads[store]) & (stacks[before] == stacks[store])).sum())

    @cached_property
    def _candidate_of(self) -> dict[tuple[int, int], int]:
        """Process and number of a candidate -> its event."""
        return {(self.field("pid", event), self.field("extra", event)): event for event in self.candidates.tolist()}

    @cached_property
    def _stores(self) -> Numbers:
        return self.trace.of_kind(Kind.STORE)

    @cached_property
    def _calls(self) -> Numbers:
        return self.trace.of_kind(*_CALLS)

    @cached_property
    def _by_word(self) -> tuple[npt.NDArray[np.void], Numbers]:
        """(file, word) of all stores, sorted, and the stores in that order."""
        inodes, offsets = (self.trace.at(name, self._stores) for name in ("inode", "offset"))
        order = np.lexsort((self._stores, offsets // WORD, inodes))
        keys = np.zeros(len(order), [("inode", "<u8"), ("word", "<u8")])
        keys["inode"], keys["word"] = inodes[order], offsets[order] // WORD
        return keys, self._stores[order]

    def _stores_to(self, inode: int, word: int) -> Numbers:
        keys, events = self._by_word
        wanted = np.array([(inode, word)], keys.dtype)
        first, last = (int(np.searchsorted(keys, wanted, side=side)[0]) for side in ("left", "right"))
        return events[first:last]

    def _writers(self, load: int) -> tuple[int, ...]:
        """The last store to each byte that a load read, the latest first."""
        start, length = self.field("offset", load), max(1, self.field("length", load))
        words = range(start // WORD, (start + length - 1) // WORD + 1)
        stores = np.concatenate([self._stores_to(self.field("inode", load), word) for word in words])
        missing, found = set(range(start, start + length)), []
        for event in sorted(stores[stores < load].tolist(), reverse=True):
            first = self.field("offset", event)
            written = missing.intersection(range(first, first + self.field("length", event)))
            if written:
                found.append(event)
                missing -= written
            if not missing:
                break
        return tuple(found)

    def _effect(self, event: int, how: Effect) -> tuple[int, ...]:
        """The store just before an EFFECT event, all its words; or the process's next call."""
        if how & Effect.OUTPUT:
            later = self._calls[int(np.searchsorted(self._calls, event)) :].tolist()
            process = self.field("pid", event)
            return next(((call,) for call in later if self.field("pid", call) == process), ())
        at, words = int(np.searchsorted(self._stores, event)) - 1, list[int]()
        while at >= 0 and (not words or self.field("flags", words[0]) & Flag.REST):
            words.insert(0, int(self._stores[at]))
            at -= 1
        return tuple(words) if words and self.field("tid", words[0]) == self.field("tid", event) else ()

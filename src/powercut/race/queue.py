"""The queue of interleavings to try: places that share an address, the most promising first.

PMRace groups loads and stores by the address that they share, and prefers addresses that are used often. Addresses of
persistent memory differ from run to run where a pool is made anew, so an entry is the set of loads and the set of
stores: addresses that the same code shares in the same way are one entry, as often used as the most used of them. Pairs
that one run predicts (`prediction`) take turns with them if they are about words that threads share for sure; others
come now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from enum import IntEnum

from powercut.quick_dataclass import dataclass
from powercut.race.board import SYNC_SITES, Site


class Origin(IntEnum):
    """How an entry came into the queue; its number says how much a turn of it costs."""

    PREDICTED = 1  # nothing orders the two, and the word is shared for sure
    SHARED = 2  # threads did use the word
    GUESSED = 8  # nothing orders the two, and nobody knows whether the word is shared


@dataclass(frozen=True, slots=True)
class Entry:
    """Loads that shall see what stores have not made durable."""

    loads: frozenset[Site]
    stores: frozenset[Site]

    @property
    def is_useful(self) -> bool:
        """Whether there is something to wait for."""
        return bool(self.loads and self.stores)


@dataclass(slots=True)
class Experience:
    """What the queues of all seeds share.

    Attributes:
        taken: how often an entry was given out for any seed: those that were not come first.
        settled: stores that are findings already: nothing more is to be learned of them.
    """

    taken: Counter[Entry] = field(default_factory=Counter)
    settled: set[Site] = field(default_factory=set)


@dataclass(slots=True)
class InterleavingQueue:
    """Entries with their priorities; each is given out several times, promising ones more often at first."""

    turns: int
    shared: Experience = field(default_factory=Experience)
    _entries: dict[Entry, tuple[Origin, int]] = field(default_factory=dict)
    _taken: Counter[Entry] = field(default_factory=Counter)
    _spent: Counter[Origin] = field(default_factory=Counter)

    def add_shared(self, loads: Iterable[Site], stores: Iterable[Site], times: int) -> None:
        """A word of persistent memory that several threads used, so many times."""
        some, others = (sorted(set(sites))[:SYNC_SITES] for sites in (loads, stores))
        self._add(Entry(frozenset(some), frozenset(others)), Origin.SHARED, times)

    def add_predicted(self, loads: frozenset[Site], stores: frozenset[Site], *, known: bool, words: int) -> None:
        """A pair that nothing orders, in so many words; `known`: one of them is shared for sure."""
        self._add(Entry(loads, stores), Origin.PREDICTED if known else Origin.GUESSED, words)

    def _add(self, entry: Entry, origin: Origin, weight: int) -> None:
        if entry.is_useful:
            before, heaviest = self._entries.get(entry, (origin, weight))
            self._entries[entry] = min(origin, before), max(weight, heaviest)

    def take(self) -> tuple[Entry, int] | None:
        """The most promising entry, and how often it was given out before; None if all had all their turns."""
        left = [entry for entry in self._entries if self._is_open(entry)]
        if not left:
            return None
        origin = min({self._entries[entry][0] for entry in left}, key=lambda one: (self._spent[one], one))
        mine = [entry for entry in left if self._entries[entry][0] is origin]
        best = min(mine, key=lambda entry: (self._round(entry), -self._entries[entry][1], _order(entry)))
        self._spent[origin] += origin
        self._taken[best] += 1
        self.shared.taken[best] += 1
        return best, self._taken[best] - 1

    def _is_open(self, entry: Entry) -> bool:
        return self._taken[entry] < self.turns and not entry.stores <= self.shared.settled

    def _round(self, entry: Entry) -> int:
        """How long it has to wait: until others had as many turns, here, or with all seeds together."""
        elsewhere = self.shared.taken[entry] - self._taken[entry]
        return self._taken[entry] + elsewhere // self.turns


def _order(entry: Entry) -> tuple[list[Site], list[Site]]:
    """Something that puts entries of equal weight into the same order in every run."""
    return sorted(entry.loads), sorted(entry.stores)

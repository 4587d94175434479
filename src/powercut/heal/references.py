"""Words of a pool that hold the offset of an object, as PMDK's object ids do, and what they hold if it was never made.

Before: the history of a pool of libpmemobj. After: for updates that made objects and shall be taken back, who refers to
these objects, and what these references become. An object that is put before others takes over the link to them: its
maker set some word (the head of a list, a bucket, a root) to the new object, which held the link before. Whoever came
later copied the new link from there, and without the object would have copied the old one. So the entries that are
newer than one in the middle of a list stay, and none of the older ones is lost. An object that is put behind all others
is passed over as well: the end to which it was added leads to what was added behind it later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import cached_property

import numpy as np

from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.reversion import Patch

_WORD = 8
_AT_ONCE = 8 << 20  # bytes of a pool


class References:
    """References to objects of one pool that are in use."""

    def __init__(self, history: History) -> None:
        self._history, log = history, history.log
        made = log.of_kind(RecordKind.ALLOCATE, RecordKind.FREE)
        made = made[log.pool_of[made] == history.pool.number]
        last = dict(zip(log.records["offset"][made].tolist(), made.tolist(), strict=True))
        self._maker: dict[int, int] = {}  # the record of its allocation, by an object's offset
        self._made: dict[int, list[int]] = {}  # objects, by the transaction that made them
        for offset, record in last.items():
            if log.records["kind"][record] == RecordKind.ALLOCATE:
                self._maker[offset] = record
                self._made.setdefault(int(log.records["transaction"][record]), []).append(offset)

    def made_with(self, record: int) -> list[int]:
        """The objects that a record's transaction made."""
        transaction = int(self._history.log.records["transaction"][record])
        return self._made.get(transaction, []) if transaction else []

    def to(self, offset: int) -> Iterator[tuple[int, int]]:
        """Words that refer to an object, and who wrote them: not PMDK itself, nobody before it was made."""
        size = self._size(offset)
        for at in self._holders.get(offset, ()):
            if at in self._history.private or offset <= at < offset + size:
                continue
            for last in self._history.overlapping(at, at + _WORD)[-1:].tolist():
                if last > self._maker[offset] and not self._history.log.is_library[last]:
                    yield at, last

    def relinked(self, records: Collection[int]) -> list[Patch]:
        """What references to objects become that were never made; those of which that is not known are left out."""
        taken, found = frozenset(records), []
        objects = {offset for record in taken for offset in self.made_with(record)}
        for offset in sorted(objects):
            links = self._replaced_by(offset, taken)
            for at, writer in self.to(offset):
                value = self._link_for(writer, links) if writer not in taken else None
                for _ in objects:  # the one before may be gone, too
                    if value not in objects:
                        break
                    value = self._only(self._replaced_by(value, taken))
                if value is not None and value not in objects:
                    found.append(Patch(at, _bytes(offset), _bytes(value)))
            found += self._spliced(links, taken, objects)
        return found

    def _spliced(self, links: dict[int, int], taken: frozenset[int], objects: set[int]) -> list[Patch]:
        """The end of a list to which an object was added leads to what was added behind that later.

        A list is known by its objects, which have one size, and their links one place.
        """
        found = []
        for at in (at for at, old in links.items() if old == 0 and self._last_writer(at) in taken):
            before = self._object_at(at)
            if before is None or before in objects:
                continue
            following, seen = self._next(before, at - before), {before}
            while following is not None and following in objects - seen:
                seen.add(following)
                following = self._next(following, at - before)
            if following is None or following in seen:
                continue
            found.append(Patch(at, _bytes(0), _bytes(following)))
            pool = self._history.content(at - _WORD, at)  # an object id: the number of the pool stands before
            if self._last_writer(at - _WORD) in taken:
                found.append(Patch(at - _WORD, _bytes(0), pool))
        return found

    def _object_at(self, at: int) -> int | None:
        """The object in which a place is."""
        index = bisect_right(self._places, at) - 1
        place = self._places[index] if index >= 0 else None
        return place if place is not None and at < place + self._size(place) else None

    def _next(self, offset: int, inside: int) -> int | None:
        """The object that one leads to which was made later and is like it."""
        link = int.from_bytes(self._history.content(offset + inside, offset + inside + _WORD), "little")
        is_later = self._maker.get(link, -1) > self._maker[offset]
        return link if is_later and self._size(link) == self._size(offset) else None

    def _size(self, offset: int) -> int:
        return int(self._history.log.records["size"][self._maker[offset]])

    @cached_property
    def _places(self) -> list[int]:
        return sorted(self._maker)

    def _last_writer(self, at: int) -> int:
        return int(next(iter(self._history.overlapping(at, at + _WORD)[-1:]), -1))

    def _replaced_by(self, offset: int, taken: frozenset[int]) -> dict[int, int]:
        """The words outside of an object that its maker set to it, and what they held before."""
        log, number = self._history.log, int(self._history.log.records["transaction"][self._maker[offset]])
        size, links = self._size(offset), {}
        for record in sorted(taken):
            if int(log.records["transaction"][record]) != number or log.is_library[record]:
                continue
            start, data = int(log.records["offset"][record]), log.data(record)
            first = -start % _WORD
            words = np.frombuffer(data[first : first + (len(data) - first) // _WORD * _WORD], "<u8")
            for index in np.flatnonzero(words == offset).tolist():
                at = start + first + _WORD * index
                if not offset <= at < offset + size:
                    links[at] = int.from_bytes(self._history.before(record, at, at + _WORD, taken), "little")
        return links

    def _link_for(self, writer: int, links: dict[int, int]) -> int | None:
        """What a later reference would be: the word that its own writer set next tells from where it was copied."""
        log = self._history.log
        number = int(log.records["transaction"][writer])
        together = log.records["transaction"] == number if number else np.arange(len(log)) == writer
        mine = self._history.changes[together[self._history.changes]]
        starts, sizes = log.records["offset"][mine], log.records["size"][mine]
        copied = {at: old for at, old in links.items() if ((starts <= at) & (at < starts + sizes)).any()}
        return self._only(copied or links)

    @staticmethod
    def _only(links: dict[int, int]) -> int | None:
        """What all of them are, if that is the same."""
        values = set(links.values())
        return values.pop() if len(values) == 1 else None

    @cached_property
    def _holders(self) -> dict[int, list[int]]:
        """Where the offsets of objects stand in the pool."""
        holders: dict[int, list[int]] = {}
        known = np.sort(np.fromiter(self._maker, np.uint64, len(self._maker)))
        with self._history.pool.path.open("rb") as file:
            for start in range(0, self._history.pool.path.stat().st_size, _AT_ONCE):
                words = np.fromfile(file, "<u8", _AT_ONCE // _WORD)
                if not len(words) or not len(known):
                    break
                near = known[np.minimum(np.searchsorted(known, words), len(known) - 1)]
                at = np.flatnonzero(near == words)
                for place, offset in zip((start + _WORD * at).tolist(), words[at].tolist(), strict=True):
                    holders.setdefault(offset, []).append(place)
        return holders


def _bytes(value: int) -> bytes:
    return value.to_bytes(_WORD, "little")

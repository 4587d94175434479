"""Which field of which type a store changes, told from addresses alone.

Before: stores, each with the place in the program that made it and where it went. After: places that write the same
kind of thing form a type, and each of them writes at one offset in it: a store's address less that offset is its
instance. Three signs link two places, strongest first:

  same       both wrote the same address, again and again: they write the same field.
  neighbour  one stores right after the other, always at the same distance: two fields of one thing.
  stride     the instances of two types are elements of one array: all are whole elements apart, and an element is not
             just what allocators align to.

A sign that contradicts a stronger one is not believed. Places that nothing links are types of their own, so a wrong
guess costs states and hides none within an instance.

Where the type of a place is sure, from debug information, it is taken instead; and since its size is known, too, all
other stores into such an instance are stores to its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.quick_dataclass import dataclass

REACH = 1024  # bytes between two fields of one thing
NEAR = 128  # the same where they were seen together only once
SURE = 0.9  # of the times that two places follow each other, at the same distance
_ALIGNMENT = 64  # allocators align to powers of two up to a cache line
_FEWEST = 3  # instances that show a stride
_ADDRESS_BITS = 44  # of one file; addresses of mapped files stay below

Longs = npt.NDArray[np.int64]
Known = Mapping[int, tuple[int, int, int]]  # place -> type, offset and size of the type, where that is sure


@dataclass(frozen=True, slots=True)
class Layout:
    """For each store its type, its instance (a number of its own) and its offset in it."""

    type: Longs
    instance: Longs
    offset: Longs


class _Types:
    """Places in types, each at an offset: a union-find in which links carry distances."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))
        self._offset = [0] * count

    def find(self, place: int) -> tuple[int, int]:
        """The type of a place, and its offset there."""
        way = []
        while self._above[place] != place:
            way.append(place)
            place = self._above[place]
        offset = 0
        for below in reversed(way):
            offset += self._offset[below]
            self._above[below], self._offset[below] = place, offset
        return place, offset

    def link(self, one: int, other: int, distance: int) -> None:
        """Believe that `other` writes `distance` bytes behind where `one` does, unless more is known."""
        (mine, here), (theirs, there) = self.find(one), self.find(other)
        if mine != theirs:
            self._above[theirs], self._offset[theirs] = mine, here + distance - there


def layout_of(place: Longs, file: Longs, address: Longs, following: Longs, known: Known) -> Layout:
    """The layout of some stores.

    Args:
        place: where in the program each store was made.
        file: the mapped file it went to.
        address: where in the file it began.
        following: the next store of the same thread, -1 where there is none.
        known: what debug information says of places; it is believed, and the rest is told from addresses.
    """
    places, which = np.unique(place, return_inverse=True)
    types = _Types(len(places))
    free = ~np.isin(places, np.fromiter(known, np.int64, len(known)))
    for one, other, distance in (*_same(which, file, address), *_neighbours(which, file, address, following)):
        if free[one] and free[other]:
            types.link(one, other, distance)
    found = np.array([types.find(number) for number in range(len(places))], np.int64).reshape(-1, 2)
    lowest = np.full(len(places), np.iinfo(np.int64).max)
    np.minimum.at(lowest, found[:, 0], found[:, 1])
    kind, offset = found[:, 0].copy(), found[:, 1] - lowest[found[:, 0]]
    _merge_by_stride(kind, offset, which, file, address)
    kind, offset = kind[which], offset[which]
    _take_known(kind, offset, place, file, address, known)
    return Layout(kind, _number(_number(kind, file), address - offset), offset)


def _take_known(kind: Longs, offset: Longs, place: Longs, file: Longs, address: Longs, known: Known) -> None:
    """Put stores into the types that are sure, and into the instances of those; the smallest that holds it counts."""
    if not known:
        return
    places = np.array(sorted(known), np.int64)
    table = np.array([known[number] for number in places.tolist()], np.int64)
    which = np.minimum(np.searchsorted(places, place), len(places) - 1)
    sure = places[which] == place
    beyond = int(kind.max(initial=0)) + 1  # apart from types that were told from addresses
    kind[sure], offset[sure] = table[which[sure], 0] + beyond, table[which[sure], 1]
    key = (np.unique(file, return_inverse=True)[1] << _ADDRESS_BITS) + address
    types = {(size, number) for number, _, size in known.values()}
    for size, number in sorted(types, reverse=True):
        bases = distinct((key - offset)[sure & (kind == number + beyond)])
        if len(bases):
            base = bases[np.maximum(np.searchsorted(bases, key, side="right") - 1, 0)]
            inside = ~sure & (base <= key) & (key < base + size)
            offset[inside], kind[inside] = (key - base)[inside], number + beyond


def _number(one: Longs, other: Longs) -> Longs:
    """Numbers from 0 on for pairs of numbers, the same for the same pair."""
    different, which = np.unique(other, return_inverse=True)
    pairs = np.unique(one, return_inverse=True)[1] * len(different) + which
    numbers: Longs = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def _same(place: Longs, file: Longs, address: Longs) -> Iterator[tuple[int, int, int]]:
    """Pairs of places of which one mostly writes where the other did."""
    order = np.lexsort((np.arange(len(place)), address, file))
    file, address, place = file[order], address[order], place[order]
    times = np.bincount(place)
    again = (file[1:] == file[:-1]) & (address[1:] == address[:-1]) & (place[1:] != place[:-1])
    one, other = np.minimum(place[1:], place[:-1])[again], np.maximum(place[1:], place[:-1])[again]
    pairs, counts = np.unique(one * len(times) + other, return_counts=True)
    for index in np.argsort(-counts, kind="stable").tolist():
        low, high = divmod(int(pairs[index]), len(times))
        if 2 * counts[index] >= min(times[low], times[high]):
            yield low, high, 0


def _neighbours(place: Longs, file: Longs, address: Longs, following: Longs) -> Iterator[tuple[int, int, int]]:
    """Pairs of places that follow each other at one distance, those first that do so most often."""
    first = np.flatnonzero(following >= 0)
    second, count = following[first], int(place.max(initial=0)) + 1
    pairs, which, times = np.unique(place[first] * count + place[second], return_inverse=True, return_counts=True)
    distance = address[second] - address[first]
    near = (file[first] == file[second]) & (np.abs(distance) <= REACH) & (place[first] != place[second])
    width = 2 * REACH + 1
    found, counts = np.unique(which[near] * width + distance[near] + REACH, return_counts=True)
    for index in np.argsort(-counts, kind="stable").tolist():
        pair, apart = divmod(int(found[index]), width)
        if counts[index] >= SURE * times[pair] and (counts[index] > 1 or abs(apart - REACH) <= NEAR):
            one, other = divmod(int(pairs[pair]), count)
            yield one, other, apart - REACH


def _merge_by_stride(kind: Longs, offset: Longs, which: Longs, file: Longs, address: Longs) -> None:
    """Types whose instances are elements of one array become one, each at its offset in the element."""
    if not len(which):
        return
    extent = np.zeros(len(kind), np.int64)
    np.maximum.at(extent, kind, offset + 1)
    mine = kind[which]
    order = np.argsort(mine, kind="stable")
    edges = np.append(np.flatnonzero(np.diff(mine[order], prepend=-1)), len(order)).tolist()
    base = address - offset[which]
    arrays: dict[tuple[int, int], list[_Array]] = {}
    for first, end in pairwise(edges):
        some = order[first:end]
        number = int(mine[some[0]])
        array = _array(file[some], base[some])
        if array is None or array.stride < extent[number]:
            continue
        same = arrays.setdefault((array.file, array.stride), [])
        for into, other in enumerate(same):
            shift = (array.first - other.first) % array.stride
            if array.first <= other.last and other.first <= array.last and shift + extent[number] <= array.stride:
                offset[kind == number] += shift
                kind[kind == number] = other.type
                same[into] = replace(other, first=min(array.first, other.first), last=max(array.last, other.last))
                break
        else:
            same.append(replace(array, type=number))


@dataclass(frozen=True, slots=True)
class _Array:
    """Instances of a type that are elements of an array."""

    type: int
    file: int
    stride: int
    first: int
    last: int


def _array(file: Longs, base: Longs) -> _Array | None:
    """The array that instances are elements of."""
    different = distinct(base)
    if len(different) < _FEWEST or (file != file[0]).any():
        return None
    stride = int(np.gcd.reduce(np.diff(different)))
    if stride & (stride - 1) == 0 and stride <= _ALIGNMENT:
        return None
    return _Array(-1, int(file[0]), stride, int(different[0]), int(different[-1]))

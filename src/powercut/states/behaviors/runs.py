"""Runs: behaviors before anybody looks at them one by one, as ranges of an order of operations.

A trace of millions of operations has about as many behaviors, most of them like another. So they stay ranges of
numbers until the different ones are known (`shapes.py`). A range that is too long to be one task is cut here:

  1. where the function is entered anew: its operations come again to a call site from which it started before, with
     others in between. Each turn is a behavior, and each turn with the next one.
  2. a turn that is still too long is cut the same way behind its first call site: a loop inside of the function, or
     one that begins after other work;
  3. what has no call site twice: into ranges that overlap by half.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.hash_mixing import Words
from powercut.states.behaviors.stacks import Ints

MOST = 32  # operations of one behavior
MOST_LOOPS = 4  # turns that are cut inside of turns
Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Runs:
    """Ranges of an order of operations.

    Attributes:
        what: what the operations of a run have in common, for people.
        order: operations; each run is a range of positions in it, in the order of time.
        place: for each position what stands for the static location of its operation within the run.
        site: for each position the call site in the function of the run, or the field of the instance.
        first, end: the ranges.
        cut: how many runs were too long and are here in parts.
    """

    what: str
    order: Ints
    place: Words
    site: npt.NDArray[np.int64]
    first: Longs
    end: Longs
    cut: int = 0

    def __len__(self) -> int:
        return len(self.first)


def ranges(starts: Bools) -> tuple[Longs, Longs]:
    """Where runs begin and end that begin at some positions."""
    first = np.flatnonzero(starts).astype(np.int64)
    return first, np.append(first[1:], len(starts)).astype(np.int64)[: len(first)]


def different(numbers: Longs) -> Longs:
    """Each of some numbers once, in order; for millions of them sorting is much faster than hashing."""
    ordered = np.sort(numbers)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    found: Longs = ordered[new]
    return found


def in_time(times: Longs, group: npt.NDArray[np.int64], reach: int) -> Bools:
    """Where a new cluster begins: DBSCAN in one dimension, with one neighbour enough to belong to a cluster.

    `times` are sorted within each group, so clusters end where the next one is further away than `reach`.
    """
    starts = np.ones(len(times), np.bool_)
    starts[1:] = (group[1:] != group[:-1]) | (times[1:] - times[:-1] > reach)
    return starts


def cut(runs: Runs) -> Runs:
    """The same with long runs in parts."""
    long = runs.end - runs.first > MOST
    if not long.any():
        return runs
    parts = [np.stack([runs.first[~long], runs.end[~long]], axis=1)]
    for first, end in zip(runs.first[long].tolist(), runs.end[long].tolist(), strict=True):
        parts.append(_turns(runs.site[first:end]) + first)
    every = np.concatenate(parts)
    every = every[np.lexsort((every[:, 1], every[:, 0]))]
    return replace(runs, first=every[:, 0].copy(), end=every[:, 1].copy(), cut=runs.cut + int(long.sum()))


def _turns(site: npt.NDArray[np.int64], deeper: int = MOST_LOOPS) -> Longs:
    """The parts of one long run: pairs of beginning and end."""
    entered = np.ones(len(site), np.bool_)
    entered[1:] = site[1:] != site[:-1]
    blocks = np.flatnonzero(entered)
    _, which, counts = np.unique(site[blocks], return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[which] > 1)
    if not len(again) or not deeper:
        return _windows(0, len(site))
    starts = distinct(np.concatenate((blocks[which == which[again[0]]], [0])))
    ends = np.append(starts[1:], len(site))
    turns = np.stack([starts, ends], axis=1)
    pairs = np.stack([starts[:-1], ends[1:]], axis=1)
    long = ends - starts > MOST
    parts = [turns[~long], pairs[pairs[:, 1] - pairs[:, 0] <= MOST]]
    for first, end in turns[long].tolist():
        inner = first + (np.flatnonzero(entered[first + 1 : end])[:1] + 1).sum()  # behind the first block
        parts.append(_windows(first, min(inner + MOST, end)))
        parts.append(_turns(site[inner:end], deeper - 1) + inner)
    return np.concatenate(parts).astype(np.int64)


def _windows(first: int, end: int) -> Longs:
    """Ranges that overlap by half and cover all."""
    starts = np.arange(first, max(first + 1, end - MOST // 2), MOST // 2)
    return np.stack([starts, np.minimum(starts + MOST, end)], axis=1)

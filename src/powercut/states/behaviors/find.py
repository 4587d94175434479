"""The behaviors of a whole timeline, and their groups.

Before: a timeline. After: groups of behaviors, each with its representative: first those that show something new, the
smallest first, then the others. `tour` explores them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import chain

import numpy as np

from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.explore import Detail, detail_of
from powercut.states.behaviors.functions import function_runs, too_high
from powercut.states.behaviors.graph import Behavior, Graph, Name, graph_of
from powercut.states.behaviors.groups import Group, group
from powercut.states.behaviors.instances import instance_runs
from powercut.states.behaviors.known_types import KnownTypes, known_types
from powercut.states.behaviors.novelty import new_losses
from powercut.states.behaviors.operations import Operations, Role, operations_of
from powercut.states.behaviors.parts import Parts, parts_of
from powercut.states.behaviors.runs import Runs
from powercut.states.behaviors.shapes import shapes_of
from powercut.states.timeline import Timeline

MOST_SHAPES = 20_000  # different behaviors that are compared with each other


@dataclass(slots=True)
class Representatives:
    """The behaviors of a timeline.

    Attributes:
        groups: each with its representative, those that show something new first, of these the smallest.
        new: for each that does, the updates whose loss shows it.
        behaviors: how many there are, with those that are alike.
        shapes: how many different ones were looked at.
        heuristics: by what operations were taken to belong together.
        cut_runs: how many were longer than `MOST` operations and are there in parts.
        left_out: how many different ones were not looked at, because there are more than `MOST_SHAPES`.
        too_high: how many functions were not looked at, because they are more than `HIGHEST` levels above others.
    """

    operations: Operations
    parts: Parts
    groups: list[Group] = field(default_factory=list)
    new: list[list[int]] = field(default_factory=list)
    behaviors: int = 0
    shapes: int = 0
    heuristics: list[str] = field(default_factory=list)
    cut_runs: int = 0
    left_out: int = 0
    too_high: int = 0


def representatives_of(timeline: Timeline) -> Representatives:
    """The behaviors of a timeline and their groups."""
    operations = operations_of(timeline)
    timeline.trace.let_go()
    types = known_types(operations)
    found = Representatives(operations, parts_of(operations), heuristics=_heuristics(operations, types))
    different: dict[int, Behavior] = {}
    places: dict[int, int] = {}  # behaviors have most in common, so each is one object
    stored = instance_runs(operations, types.places)
    for runs in chain([] if stored is None else [stored], function_runs(operations)):
        found.cut_runs += runs.cut
        for shape, behavior in _different(found, runs, places):
            known = different.get(shape)
            different[shape] = behavior if known is None else replace(known, alike=known.alike + behavior.alike)
    smallest = sorted(different.values(), key=lambda behavior: (len(behavior.operations), behavior.operations))
    found.left_out += len(smallest[MOST_SHAPES:])
    found.shapes = len(smallest[:MOST_SHAPES])
    names: dict[Name, Name] = {}
    graphs = [(behavior, graph_of(operations, found.parts, behavior, names)) for behavior in smallest[:MOST_SHAPES]]
    groups = group(graphs, lambda behavior: detail_of(timeline, behavior.updates(operations)) is Detail.UPDATES)
    found.too_high = too_high(operations)
    _put_in_order(found, groups, {id(behavior): graph for behavior, graph in graphs})
    return found


def _put_in_order(found: Representatives, groups: list[Group], graphs: dict[int, Graph]) -> None:
    """Those that show something new first, and of these and the others the smallest first."""
    sizes = found.operations.end - found.operations.first

    def size(some: Group) -> tuple[int, tuple[int, ...]]:
        members = some.representative.operations
        return int(sizes[list(members)].sum()), members

    by_size = sorted(groups, key=size)
    shown = [(some.representative, graphs[id(some.representative)]) for some in by_size]
    losses = list(new_losses(found.operations, found.parts, shown))
    found.new = [new for new in losses if new]
    first = [some for some, new in zip(by_size, losses, strict=True) if new]
    found.groups = [*first, *(some for some, new in zip(by_size, losses, strict=True) if not new)]


def _different(found: Representatives, runs: Runs, shared: dict[int, int]) -> Iterator[tuple[int, Behavior]]:
    """Each shape that runs have, with the one in the middle of those that have it; of very many, the smallest."""
    shapes = shapes_of(found.operations, found.parts, runs)
    order = np.argsort(shapes, kind="stable")
    order = order[shapes[order] != 0]
    begin = np.flatnonzero(np.diff(shapes[order], prepend=np.uint64(0)))
    counts = np.diff(np.append(begin, len(order)))
    middle = order[begin + counts // 2]
    found.behaviors += len(order)
    kept = np.argsort((runs.end - runs.first)[middle], kind="stable")[:MOST_SHAPES]
    found.left_out += len(middle) - len(kept)
    for index, count in zip(middle[kept].tolist(), counts[kept].tolist(), strict=True):
        inside = slice(int(runs.first[index]), int(runs.end[index]))
        places = tuple(shared.setdefault(place, place) for place in runs.place[inside].tolist())
        yield int(shapes[index]), Behavior(runs.what, tuple(runs.order[inside].tolist()), places, count)


def _heuristics(operations: Operations, types: KnownTypes) -> list[str]:
    """By what operations are taken to belong together."""
    found = []
    changes = operations.stack[operations.role == Role.CHANGE]
    if changes.any():
        found.append("the functions that made them")
    if not changes.all():
        found.append("their kinds and the names of files (no call stacks were recorded)")
    if types.places:
        found.append(f"the types of what is stored to (from debug information, for {len(types.places)} places)")
    if types.asked > len(types.places):
        found.append(f"the addresses of stores (for {types.asked - len(types.places)} places)")
    return found

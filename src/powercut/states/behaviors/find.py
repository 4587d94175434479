"""Representative testing of a whole timeline: its behaviors, their groups, and the states of the representatives.

Before: a timeline. After: groups of behaviors (`representatives_of`), and a strategy that explores one behavior of each
group: first those that show something new, the smallest first, then the others. What was cut on the way is kept with
them, for the report.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from powercut.printable import counted
from powercut.states.behaviors.explore import WINDOW, Detail, detail_of, explore, with_few_kept, with_one_lost
from powercut.states.behaviors.functions import HIGHEST, function_runs, too_high
from powercut.states.behaviors.graph import Behavior, Graph, graph_of
from powercut.states.behaviors.groups import Group, group
from powercut.states.behaviors.instances import instance_runs
from powercut.states.behaviors.known_types import KnownTypes, known_types
from powercut.states.behaviors.novelty import new_losses
from powercut.states.behaviors.operations import Operations, Role, operations_of
from powercut.states.behaviors.parts import Parts, parts_of
from powercut.states.behaviors.runs import MOST, Runs
from powercut.states.behaviors.shapes import shapes_of
from powercut.states.state import State
from powercut.states.timeline import Timeline

MOST_SHAPES = 20_000  # different behaviors that are compared with each other
_KEPT = "_representatives"


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
        reached: how many groups some states were tested of so far.
        explored: how closely each group was explored of which all states were.
        states: how many there were so far.
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
    reached: int = 0
    explored: list[Detail] = field(default_factory=list)
    states: int = 0

    def counts(self) -> dict[str, int]:
        """What was found and what was cut, for the report."""
        details = Counter(self.explored)
        return {
            "behaviors": self.behaviors,
            "shapes": self.shapes,
            "groups": len(self.groups),
            "new": len(self.new),
            "reached": self.reached,
            "explored": len(self.explored),
            "states": self.states,
            "in_parts": self.cut_runs,
            "with_whole_operations": details[Detail.OPERATIONS],
            "a_few_operations_at_a_time": details[Detail.WINDOWS],
            "left_out": self.left_out,
            "functions_left_out": self.too_high,
        }

    def notes(self) -> list[str]:
        """What the user should know: by what behaviors were told, and what was cut."""
        told = [f"behaviors were told by {' and '.join(self.heuristics)}"] if self.heuristics else []
        return [*told, *self.cuts()]

    def cuts(self) -> list[str]:
        """What was left out or explored less closely than it could be."""
        counts = self.counts()
        cuts = {
            "in_parts": f"tested in parts (longer than {MOST} operations)",
            "with_whole_operations": "tested with whole operations only (too many states)",
            "a_few_operations_at_a_time": f"tested {WINDOW} operations at a time (too many states)",
            "left_out": f"left out (only {MOST_SHAPES:,} distinct ones are compared)",
        }
        notes = [f"{counted(counts[cut], 'behavior')} {words}" for cut, words in cuts.items() if counts[cut]]
        if self.too_high:
            notes.append(f"{counted(self.too_high, 'function')} left out (more than {HIGHEST} levels above others)")
        if 0 < self.reached < len(self.groups):
            missing = len(self.groups) - self.reached
            notes.append(f"{missing:,} of {counted(len(self.groups), 'group')} of behaviors not reached")
        return notes


def representatives_of(timeline: Timeline) -> Representatives:
    """The behaviors of a timeline and their groups; found once, and kept with it."""
    found = already_found(timeline)
    if found is None:
        found = vars(timeline)[_KEPT] = _find(timeline)
    return found


def already_found(timeline: Timeline) -> Representatives | None:
    """The same if somebody asked for it before: for reports, which should not start looking."""
    found: Representatives | None = vars(timeline).get(_KEPT)
    return found


def representatives(timeline: Timeline, rng: random.Random) -> Iterator[State]:
    """One behavior of each group survived in part: every closed set of its updates, the most telling ones first."""
    found = representatives_of(timeline)
    found.explored.clear()
    found.reached = found.states = 0
    seen: set[tuple[int, int]] = set()
    new, every = len(found.new), len(found.groups)
    for state in chain(_show_new(found), _explore(found, 0, new), _explore(found, new, every)):
        identity = timeline.identity(state)
        if identity not in seen:
            seen.add(identity)
            found.states += 1
            yield state


def _show_new(found: Representatives) -> Iterator[State]:
    """The states that show what no smaller behavior shows."""
    for number, losses in enumerate(found.new):
        yield from with_one_lost(found.operations.timeline, _reach(found, number), losses)


def _explore(found: Representatives, first: int, end: int) -> Iterator[State]:
    """The states of some groups: the few telling ones of each before all of any."""
    timeline, numbers = found.operations.timeline, range(first, end)
    for number in numbers:
        yield from with_one_lost(timeline, _reach(found, number))
    for number in numbers:
        yield from with_few_kept(timeline, _reach(found, number))
    for number in numbers:
        detail = detail_of(timeline, _reach(found, number))
        yield from explore(timeline, _reach(found, number), detail)
        found.explored.append(detail)


def _reach(found: Representatives, number: int) -> list[list[int]]:
    """The updates of a representative, operation by operation; its group is reached by that."""
    found.reached = max(found.reached, number + 1)
    return found.groups[number].representative.updates(found.operations)


def _find(timeline: Timeline) -> Representatives:
    operations = operations_of(timeline)
    types = known_types(operations)
    found = Representatives(operations, parts_of(operations), heuristics=_heuristics(operations, types))
    different: dict[int, Behavior] = {}
    stored = instance_runs(operations, types.places)
    for runs in chain([] if stored is None else [stored], function_runs(operations)):
        found.cut_runs += runs.cut
        for shape, behavior in _different(found, runs):
            known = different.get(shape)
            different[shape] = behavior if known is None else replace(known, alike=known.alike + behavior.alike)
    smallest = sorted(different.values(), key=lambda behavior: (len(behavior.operations), behavior.operations))
    found.left_out += len(smallest[MOST_SHAPES:])
    found.shapes = len(smallest[:MOST_SHAPES])
    graphs = [(behavior, graph_of(operations, found.parts, behavior)) for behavior in smallest[:MOST_SHAPES]]
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


def _different(found: Representatives, runs: Runs) -> Iterator[tuple[int, Behavior]]:
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
        operations, places = tuple(runs.order[inside].tolist()), tuple(runs.place[inside].tolist())
        yield int(shapes[index]), Behavior(runs.what, operations, places, count)


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

"""Persistence graphs, and which behavior represents which (Pathfinder, definitions 3.1 to 3.5).

The nodes of a behavior's graph are its updates (of large operations those that stand for all), named by their static
location; an edge leads from an update to each that cannot persist before it. Two things are nodes, too, because the
order of updates and of what others see of them matters: what the program said to the outside in between, and the
moment at which it went on to its next task. An edge to them says that the update was durable by then.

A location that is reached several times gives several nodes, told apart by counting. Then nodes of two graphs are
equivalent (3.3) exactly if their names are equal, the equivalence image (3.3) of a set is as large as the set, as the
paper has it, and one behavior represents another (3.5) if it has all its nodes and, among them, no edge that the
other has not: whatever order the other allows, it allows, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.operations import Operations, Role
from powercut.states.behaviors.order import order_of
from powercut.states.behaviors.parts import Parts

Name = tuple[Hashable, int]
_WENT_ON = "went on"


@dataclass(frozen=True, slots=True)
class Behavior:
    """An update behavior (3.1): operations that together do one task.

    Attributes:
        what: by what they belong together: "function", "function with what it calls" or "instance".
        operations: their numbers, in order.
        places: for each of them what stands for its static location.
        alike: how many behaviors of the run have this shape; this is one in the middle of them.
    """

    what: str
    operations: tuple[int, ...]
    places: tuple[int, ...]
    alike: int = 1

    def updates(self, operations: Operations) -> list[list[int]]:
        """The updates of each operation that has any, in order."""
        owned = ((int(operations.first[o]), int(operations.end[o])) for o in self.operations)
        return [list(range(first, end)) for first, end in owned if end > first]


@dataclass(frozen=True, slots=True)
class Graph:
    """A persistence graph (3.2).

    Attributes:
        names: the nodes, all different.
        before: for each node a mask of those that come before it.
    """

    names: tuple[Name, ...]
    before: tuple[int, ...]

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return sum(mask.bit_count() for mask in self.before)

    def represents(self, other: Graph) -> bool:
        """Whether every order of updates that the other allows is one of this, too (3.5)."""
        numbers: dict[Name, int] = {}
        return self.numbered(numbers).represents(other.numbered(numbers))

    def numbered(self, numbers: dict[Name, int]) -> NumberedGraph:
        """The same in a numbering of names that all graphs share which are compared; new names are added to it."""
        mine = [numbers.setdefault(name, len(numbers)) for name in self.names]
        before = {}
        for number, mask in zip(mine, self.before, strict=True):
            before[number] = sum(1 << mine[index] for index in range(mask.bit_length()) if mask >> index & 1)
        return NumberedGraph(sum(1 << number for number in mine), before)


@dataclass(frozen=True, slots=True)
class NumberedGraph:
    """A persistence graph to be compared with thousands: sets of nodes are masks that mean the same in all of them.

    Attributes:
        nodes: a mask of the numbers of all nodes.
        before: for the number of each node a mask of those that come before it.
    """

    nodes: int
    before: dict[int, int]

    def represents(self, other: NumberedGraph) -> bool:
        """Whether it has all nodes of the other and, among them, no edge that the other has not (3.5)."""
        if other.nodes & ~self.nodes:
            return False
        return not any(self.before[node] & other.nodes & ~mask for node, mask in other.before.items())


def graph_of(operations: Operations, parts: Parts, behavior: Behavior, shared: dict[Name, Name] | None = None) -> Graph:
    """The persistence graph of a behavior; `shared`: names of other graphs, which are the same objects in all."""
    timeline, nodes = operations.timeline, nodes_of(operations, parts, behavior)
    updates = [update for update, _, _ in nodes if update >= 0]
    order = iter(order_of(timeline, updates))
    spread = [index for index, (update, _, _) in enumerate(nodes) if update >= 0]  # where the updates are
    before: list[int] = []
    for update, issued, _ in nodes:
        if update >= 0:
            mask = next(order)
            before.append(sum(1 << spread[i] for i in range(len(updates)) if mask >> i & 1))
        else:
            sure = (i for i in spread if timeline.updates.guaranteed[nodes[i][0]] <= issued)
            before.append(sum(1 << i for i in sure))
    names = _numbered([name for _, _, name in nodes])
    return Graph(names if shared is None else tuple(shared.setdefault(name, name) for name in names), tuple(before))


def nodes_of(operations: Operations, parts: Parts, behavior: Behavior) -> list[tuple[int, int, Hashable]]:
    """(update or -1, time, name) of each node."""
    found: list[tuple[int, int, Hashable]] = []
    ends = 0
    for operation, place in zip(behavior.operations, behavior.places, strict=True):
        issued = 2 * int(operations.event[operation])
        for shown in range(int(parts.first[operation]), int(parts.first[operation + 1])):
            found.append((int(parts.shown[shown]), issued, (place, int(parts.name[shown]))))
        if operations.role[operation] == Role.CHANGE:
            ends = int(operations.next_step[operation])
        elif operations.role[operation] == Role.OUTPUT:
            found.append((-1, issued, (place, "said")))
    return [*found, (-1, ends, _WENT_ON)]


def _numbered(names: Sequence[Hashable]) -> tuple[Name, ...]:
    """Names, each with how often it came before."""
    seen: Counter[Hashable] = Counter()
    numbered = []
    for name in names:
        numbered.append((name, seen[name]))
        seen[name] += 1
    return tuple(numbered)

"""Groups of behaviors, each with one that represents all of it (Pathfinder, section 3.4, step D).

Behaviors are taken from the largest to the smallest, and of the same size those with fewer edges first, because they
may represent the others. Each joins every group whose representative represents it, and founds one if there is none.

A behavior that is too large to be explored as a whole stands only for others that are, too: what could be explored in
full must not be lost behind what cannot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field

from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.graph import Behavior, Graph, Name, NumberedGraph


@dataclass(slots=True)
class Group:
    """Behaviors that one of them represents; it is the first of the members."""

    members: list[Behavior] = field(default_factory=list)

    @property
    def representative(self) -> Behavior:
        """The one that is tested for all."""
        return self.members[0]

    @property
    def alike(self) -> int:
        """How many behaviors of the run it stands for."""
        return sum(member.alike for member in self.members)


def group(behaviors: Sequence[tuple[Behavior, Graph]], is_whole: Callable[[Behavior], bool]) -> list[Group]:
    """Group some behaviors, in the order in which the groups are founded; `is_whole`: it is explored in full."""
    groups: list[tuple[Group, NumberedGraph, bool]] = []
    numbers: dict[Name, int] = {}
    with_node: dict[Name, list[int]] = defaultdict(list)  # groups whose representative has a node
    for behavior, graph in sorted(behaviors, key=_first_the_largest):
        rarest = min(graph.names, key=lambda name: len(with_node.get(name, ())))
        numbered = graph.numbered(numbers)
        found = [index for index in with_node.get(rarest, ()) if groups[index][1].represents(numbered)]
        whole = is_whole(behavior) if not all(groups[index][2] for index in found) or not found else True
        joined = [index for index in found if groups[index][2] or not whole]
        for index in joined:
            groups[index][0].members.append(behavior)
        if not joined:
            for name in graph.names:
                with_node[name].append(len(groups))
            groups.append((Group([behavior]), numbered, whole))
    return [members for members, _, _ in groups]


def _first_the_largest(item: tuple[Behavior, Graph]) -> tuple[int, int, tuple[int, ...]]:
    behavior, graph = item
    return -len(graph.names), graph.edges, behavior.operations

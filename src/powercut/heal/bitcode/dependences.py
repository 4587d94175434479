"""What an instruction of a program may depend on, according to its code.

Before: the functions of all modules. After: for any instructions, all that they depend on, step by step:
- data: what computes their operands; what may have written the memory that they read; at a call what the called
  function returns, in a function what it was called with;
- control: the branches that decide whether they are executed, and the calls of their function.

What a function returns is followed into it, but not out again to its other callers, as their arguments are not those
of this call (Horwitz, Reps and Binkley). The result is rather too large than too small, but it is no proof: it is used
to choose what to try first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from powercut.heal.bitcode.calls import Calls, Node
from powercut.heal.bitcode.memory import Memory, Place


class Dependences:
    """Dependences of a program's instructions."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._memory = Memory(calls)
        self._control: dict[int, list[list[Node]]] = {}

    def slice_of(self, seeds: Iterable[Node]) -> set[Node]:
        """All that some instructions depend on, and these."""
        free = set(seeds)  # reached in a way that leads on to the callers of their functions
        bound: set[Node] = set()  # reached by what their functions return
        read: set[Place] = set()
        waiting = [(node, True) for node in free]
        while waiting:
            node, is_free = waiting.pop()
            new = set(self._memory.read(node)) - read
            read |= new
            writers = ((writer, True) for place in new for writer in self._memory.writers.get(place, ()))
            for other, other_free in (*self._of(node, is_free), *writers):
                if other not in free and (other_free or other not in bound):
                    (free if other_free else bound).add(other)
                    waiting.append((other, other_free))
        return free | bound

    def _of(self, node: Node, is_free: bool) -> Iterator[tuple[Node, bool]]:
        """What an instruction depends on without memory, and whether that leads on to callers."""
        number, one = node[0], self._calls.instruction(node)
        makers = (self._calls.maker((number, name)) for name in one.operands)
        yield from ((maker, is_free) for maker in makers if maker is not None)
        yield from ((branch, is_free) for branch in self._deciding(number, one.block))
        yield from ((end, False) for end in self._calls.returns(number, one))
        if is_free:
            yield from ((caller, True) for caller in self._calls.callers(number))

    def _deciding(self, number: int, block: int) -> list[Node]:
        """The branches that decide whether a block is executed."""
        if number not in self._control:
            function = self._calls.functions[number]
            last = {one.block: at for at, one in enumerate(function.instructions)}
            self._control[number] = [
                [(number, last[other]) for other in others if other in last]
                for others in deciding_blocks(function.successors)
            ]
        return self._control[number][block]


def deciding_blocks(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each block those whose branch decides whether it is reached (Ferrante, Ottenstein and Warren)."""
    after = _always_behind(successors)
    deciding: list[list[int]] = [[] for _ in successors]
    for block, following in enumerate(successors):
        reached = 0
        for next_block in following:
            reached |= after[next_block]
        sometimes = reached & ~(after[block] & ~(1 << block))
        for other in range(len(successors)):
            if sometimes >> other & 1:
                deciding[other].append(block)
    return deciding


def _always_behind(successors: Sequence[Sequence[int]]) -> list[int]:
    """For each block those that every way from it to the end comes through, as bits; it is one of them."""
    everything = (1 << len(successors)) - 1
    after = [everything] * len(successors)
    changed = True
    while changed:
        changed = False
        for block in reversed(range(len(successors))):
            common = everything if successors[block] else 0
            for next_block in successors[block]:
                common &= after[next_block]
            changed |= after[block] != common | 1 << block
            after[block] = common | 1 << block
    return after

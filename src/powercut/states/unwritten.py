"""Where files have never held anything: zeros that are written there change nothing but the size.

A database that fills its log with zeros before it uses it would otherwise have two states for each block of it that
hold the same. Before: the writes of a trace, in order. After: it is known of each piece whether it is such zeros. What
was ever written, lost or not, counts as held; so does all of a file that is mapped.
"""

from __future__ import annotations

from powercut.states.tree import Tree
from powercut.trace.reader import Trace

_NEVER = 1 << 60


class Unwritten:
    """How far each file has ever held something."""

    def __init__(self, trace: Trace, tree: Tree) -> None:
        self._content = trace.content
        self._tree = tree
        self._reached: dict[int, int] = {}

    def takes(self, obj: int, start: int, length: int, blob: int) -> bool:
        """Whether a piece is zeros over nothing; if not, it is held from now on."""
        reached = self._reached.get(obj)
        if reached is None:
            reached = max((offset + size for offset, size, _ in self._tree.things[obj].base_data), default=0)
            self._reached[obj] = reached
        if start >= reached and self._content[blob] == 0 and not any(self._content[blob : blob + length]):
            return True
        self._reached[obj] = max(reached, start + length)
        return False

    def hold_all(self, obj: int) -> None:
        """A file may hold anything from now on."""
        self._reached[obj] = _NEVER

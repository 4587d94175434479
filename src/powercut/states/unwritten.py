"""Where files have never held anything but zeros: zeros that are written there change nothing but the size.

A database that fills its log with zeros before it uses it would otherwise have two states for each block of it that
hold the same. Before: the writes of a trace, in order. After: it is known of each piece whether it is such zeros. What
was ever written, lost or not, counts as held; so does all of a file that is mapped.
"""

from __future__ import annotations

from powercut.states.tree import Tree
from powercut.trace.reader import Trace

_NEVER = 1 << 60
_SLICE = 1 << 20  # bytes that are looked at together


class Unwritten:
    """How far each file has ever held something."""

    def __init__(self, trace: Trace, tree: Tree) -> None:
        self._content = trace.content
        self._tree = tree
        self._reached: dict[int, int] = {}  # by writes
        self._at_first: dict[int, int] = {}  # before the first write; only where that was asked

    def takes(self, obj: int, start: int, length: int, blob: int) -> bool:
        """Whether a piece is zeros over nothing; if not, it is held from now on."""
        reached = self._reached.get(obj, 0)
        zeros = start >= reached and self._content[blob] == 0 and not any(self._content[blob : blob + length])
        if zeros and start >= self._held_at_first(obj):
            return True
        self._reached[obj] = max(reached, start + length)
        return False

    def hold(self, obj: int, end: int) -> None:
        """A file may hold anything below that offset from now on."""
        self._reached[obj] = max(self._reached.get(obj, 0), end)

    def hold_all(self, obj: int) -> None:
        """A file may hold anything from now on."""
        self._reached[obj] = _NEVER

    def _held_at_first(self, obj: int) -> int:
        """Where the zeros begin with which a file ended before the program ran."""
        held = self._at_first.get(obj)
        if held is None:
            ends = (offset + self._end(blob, size) for offset, size, blob in self._tree.things[obj].base_data)
            held = self._at_first[obj] = max(ends, default=0)
        return held

    def _end(self, blob: int, size: int) -> int:
        """How long a piece of content is without the zeros at its end; 0 if there is nothing else in it."""
        while size:
            first = max(0, size - _SLICE)
            left = len(bytes(self._content[blob + first : blob + size]).rstrip(b"\0"))
            if left:
                return first + left
            size = first
        return 0

"""Versions of blocks: what a block holds after its first so many writes, kept where that saves work.

The content of a block after the first *k* of its data updates does not depend on the state, so it is kept from state
to state. A block that is written in part again and again would otherwise be replayed from its beginning each time.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

from powercut.image.image import BLOCK

if TYPE_CHECKING:
    from powercut.image.index import ImageIndex

KEPT_BYTES = 32 << 20  # all versions together; beyond, they are dropped and made anew
EVERY = 32  # a version in so many is kept as a stepping stone


class BlockVersions:
    """Contents of the blocks of one timeline."""

    def __init__(self, index: ImageIndex) -> None:
        self._index = index
        self._updates = index.updates
        self._kept: dict[tuple[int, int], tuple[list[int], list[bytes]]] = {}
        self._bytes = 0

    def content(self, file: int, block: int, data: list[int], count: int) -> bytes:
        """The block after the first `count` of its data updates."""
        counts, contents = self._kept.get((file, block)) or ([], [])
        position = bisect_right(counts, count) - 1
        if position >= 0 and counts[position] == count:
            return contents[position]
        start, content = (counts[position], bytearray(contents[position])) if position >= 0 else (0, None)
        for number in range(count - 1, start - 1, -1):  # nothing before a write of the whole block matters
            if self._covers(data[number], block):
                start, content = number, bytearray(BLOCK)
                break
        if content is None:
            content = self.base(file, block)
        for number in range(start, count):
            self._apply(content, data[number], block)
            if (number + 1) % EVERY == 0:
                self._keep(file, block, number + 1, bytes(content))
        return self._keep(file, block, count, bytes(content))

    def base(self, file: int, block: int) -> bytearray:
        """The block as the snapshot has it."""
        low, high = block * BLOCK, (block + 1) * BLOCK
        content = bytearray(BLOCK)
        extents = self._index.tree.things[file].base_data  # by offset, none over another
        for start, length, blob in extents[max(0, bisect_right(extents, low, key=itemgetter(0)) - 1) :]:
            if start >= high:
                break
            first, last = max(start, low), min(start + length, high)
            if first < last:
                content[first - low : last - low] = self._index.trace.blob(blob + first - start, last - first)
        return content

    def _covers(self, update: int, block: int) -> bool:
        start = self._updates.start[update]
        return start <= block * BLOCK and start + self._updates.length[update] >= (block + 1) * BLOCK

    def _apply(self, content: bytearray, update: int, block: int) -> None:
        start, low = self._updates.start[update], block * BLOCK
        first, last = max(start, low), min(start + self._updates.length[update], low + BLOCK)
        content[first - low : last - low] = self._index.trace.blob(
            self._updates.data[update] + first - start, last - first
        )

    def _keep(self, file: int, block: int, count: int, content: bytes) -> bytes:
        """Keep a version; of those between two stepping stones only the latest asked for."""
        if self._bytes > KEPT_BYTES:
            self._kept.clear()
            self._bytes = 0
        counts, contents = self._kept.setdefault((file, block), ([], []))
        position = bisect_right(counts, count)
        if position and counts[position - 1] == count:
            return content
        if position and counts[position - 1] % EVERY and counts[position - 1] // EVERY == count // EVERY:
            counts[position - 1], contents[position - 1] = count, content
        else:
            counts.insert(position, count)
            contents.insert(position, content)
            self._bytes += BLOCK
        return content

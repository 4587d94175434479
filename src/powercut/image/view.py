"""The image of one crash state, computed from the snapshot and the surviving updates, on demand.

A name stands for what the last surviving change of that name says. A block holds what the surviving writes to it left,
in program order, on top of the snapshot, cut and zeroed by the surviving truncates and holes. Where a size survived
and the data did not, the model says what shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING

from powercut.image.image import BLOCK, ObjectKind
from powercut.model.filesystem import Exposed
from powercut.states.state import NEVER, Base, State
from powercut.states.updates import UpdateKind

if TYPE_CHECKING:
    from powercut.states.timeline import Timeline

GARBAGE = b"\xa5"  # stands for whatever the disk held before


class StateImage:
    """The content of the data folder in one state."""

    def __init__(self, timeline: Timeline, state: State) -> None:
        self._timeline = timeline
        self._index = timeline.index
        self._updates = timeline.updates
        self._tree = timeline.tree
        self.state = state
        self._inverted = state.base is Base.GUARANTEED
        self._issued = timeline.issued(state.point)

    def survives(self, update: int) -> bool:
        """Whether an update is part of this state."""
        if update >= self._issued:
            return False
        if self._updates.guaranteed[update] <= self.state.point:
            return True
        return (update in self.state.delta) == self._inverted

    def entry(self, folder: int, name: bytes) -> int | None:
        """The object a name stands for, or None."""
        for update, value in reversed(self._index.names.get((folder, name), ())):
            if self.survives(update):
                return value if value >= 0 else None
        return self._tree.base.get(folder, {}).get(name)

    def entries(self, folder: int) -> Mapping[bytes, int]:
        """All names in a folder and the objects they stand for."""
        found = dict(self._tree.base.get(folder, {}))
        for name in self._index.names_in.get(folder, ()):
            obj = self.entry(folder, name)
            if obj is None:
                found.pop(name, None)
            else:
                found[name] = obj
        return found

    def kind(self, obj: int) -> ObjectKind:
        """What the object is."""
        return self._tree.things[obj].kind

    def target(self, link: int) -> bytes:
        """Where a symbolic link points."""
        return self._tree.things[link].target

    def mode(self, obj: int) -> int:
        """Permission bits."""
        for update in reversed(self._index.modes.get(obj, ())):
            if self.survives(update):
                return self._updates.start[update]
        return self._tree.things[obj].mode

    def xattrs(self, obj: int) -> Mapping[bytes, bytes]:
        """Extended attributes."""
        found: dict[bytes, bytes] = {}
        for update in self._index.xattrs.get(obj, ()):
            if self.survives(update):
                name = self._updates.names[self._updates.start[update]]
                if self._updates.data[update] < 0:
                    found.pop(name, None)
                else:
                    found[name] = self._timeline.trace.blob(self._updates.data[update], self._updates.length[update])
        return found

    def size(self, file: int) -> int:
        """The length of a file: the last surviving truncate, grown by the surviving sizes after it."""
        cut = self._last_cut(file)
        size = self._updates.start[cut] if cut >= 0 else self._tree.things[file].base_size
        sizes = self._index.sizes(file)
        only_grows = file not in self._index.cuts  # then the last surviving size is the largest
        for position in range(bisect_left(sizes, self._issued) - 1, -1, -1):
            update = sizes[position]
            if update < cut:
                break
            if self._updates.start[update] > size and self.survives(update):
                size = self._updates.start[update]
                if only_grows:
                    break
        return size

    def _last_cut(self, file: int) -> int:
        for update in reversed(self._index.cuts.get(file, ())):
            if self._updates.kind[update] == UpdateKind.CUT and self.survives(update):
                return update
        return -1

    def read(self, file: int, offset: int, length: int) -> bytes:
        """Content of a file, cut off at its end."""
        end = min(offset + length, self.size(file))
        if offset >= end:
            return b""
        blocks = [self.block(file, number) for number in range(offset // BLOCK, (end - 1) // BLOCK + 1)]
        skip = offset % BLOCK
        return b"".join(blocks)[skip : skip + end - offset]

    def data_from(self, file: int, offset: int) -> int:
        """The first offset, from one on, at which there may be anything but zeros."""
        return self._index.data_from(file, offset)

    def block(self, file: int, number: int) -> bytes:
        """One whole block, as if the file went on behind its end."""
        data = self._index.of_block(file, number)
        if file in self._index.cuts or file in self._timeline.in_lines or self._timeline.row.piece < BLOCK:
            return self._replay(file, number)
        # The writes of one block persist in order: those that survived are the first ones.
        survived = bisect_left(data, True, key=lambda update: not self.survives(update))
        content = self._index.versions.content(file, number, data, survived)
        if self._timeline.row.exposed is Exposed.GARBAGE and survived < len(data):
            return self._expose(content, number, data[survived:])
        return content

    def _expose(self, content: bytes, block: int, lost: list[int]) -> bytes:
        """Garbage where lost data lay behind the end of the file: it shows where the size survived."""
        shown, low = bytearray(content), block * BLOCK
        for update in lost:
            if update < self._issued:
                end = min(self._updates.start[update] + self._updates.length[update], low + BLOCK)
                first = max(self._updates.fresh[update], low)
                if first < end:
                    shown[first - low : end - low] = GARBAGE * (end - first)
        return bytes(shown)

    def _replay(self, file: int, number: int) -> bytes:
        """A block of a file that was cut, or whose sectors persist one by one: update by update."""
        low, high = number * BLOCK, (number + 1) * BLOCK
        content = self._index.versions.base(file, number)
        for update in self._history(file, number):
            kind = self._updates.kind[update]
            start = self._updates.start[update]
            first, last, data = max(start, low), min(start + self._updates.length[update], high), b""
            if kind == UpdateKind.CUT:
                last = high
            elif kind == UpdateKind.DATA and self.survives(update):
                data = self._timeline.trace.blob(self._updates.data[update] + first - start, last - first)
            elif kind == UpdateKind.DATA:  # lost: shows only where its size survived
                first = max(self._updates.fresh[update], low)
                data = GARBAGE * max(0, last - first)
            if first < last:
                content[first - low : last - low] = data or bytes(last - first)
        return bytes(content)

    def _history(self, file: int, block: int) -> list[int]:
        """The updates that made a block, oldest first, starting after the last one that leaves nothing of it."""
        low, high = block * BLOCK, (block + 1) * BLOCK
        garbage = self._timeline.row.exposed is Exposed.GARBAGE
        cuts = [u for u in self._index.cuts.get(file, ()) if self.survives(u) and self._touches(u, low, high)]
        history: list[int] = []
        for update in reversed(self._merged(self._index.of_block(file, block), cuts)):
            if update >= self._issued:
                continue
            data = self._updates.kind[update] == UpdateKind.DATA
            if data and not self.survives(update):
                if garbage and self._updates.fresh[update] < NEVER:
                    history.append(update)
                continue
            history.append(update)
            start = self._updates.start[update]
            end = NEVER if self._updates.kind[update] == UpdateKind.CUT else start + self._updates.length[update]
            if start <= low and end >= high:
                break
        history.reverse()
        return history

    def _touches(self, cut: int, low: int, high: int) -> bool:
        start = self._updates.start[cut]
        return start < high and (self._updates.kind[cut] == UpdateKind.CUT or start + self._updates.length[cut] > low)

    @staticmethod
    def _merged(data: list[int], cuts: list[int]) -> list[int]:
        return sorted(data + cuts) if cuts else data

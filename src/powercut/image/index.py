"""Where each part of an image comes from: the updates of every name, block, size and attribute, in program order.

The index is made once from the columns of a timeline, by sorting; looking up a name or a block does not depend on the
length of the trace.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter

import numpy as np

from powercut.image.image import BLOCK, Changes, ObjectKind
from powercut.image.versions import BlockVersions
from powercut.states.state import NEVER
from powercut.states.tree import Tree
from powercut.states.updates import UpdateKind, Updates
from powercut.trace.reader import Trace

_BLOCK_BITS = 40  # a block key: object above, block number below
_REMEMBERED = 20_000  # look-ups kept


def _block_key(file: int, block: int) -> int:
    return (file << _BLOCK_BITS) | block


class ImageIndex:
    """Updates by what they change."""

    def __init__(self, trace: Trace, updates: Updates, tree: Tree) -> None:
        self.trace = trace
        self.updates = updates
        self.tree = tree
        self._known_blocks: dict[int, list[int]] = {}
        self._known_sizes: dict[int, list[int]] = {}
        self._index_data()
        self.names: dict[tuple[int, bytes], list[tuple[int, int]]] = defaultdict(list)  # -> (update, object or -1)
        self.names_in: dict[int, dict[bytes, None]] = defaultdict(dict)  # folder -> names that ever change
        for effect in range(len(updates.effect_update)):
            folder, name = updates.effect_folder[effect], updates.names[updates.effect_name[effect]]
            self.names[folder, name].append((updates.effect_update[effect], updates.effect_value[effect]))
            self.names_in[folder][name] = None
        self.cuts: dict[int, list[int]] = defaultdict(list)  # file -> CUT and ZERO updates
        self.modes: dict[int, list[int]] = defaultdict(list)
        self.xattrs: dict[int, list[int]] = defaultdict(list)
        self._index_metadata()

    def _index_data(self) -> None:
        """Sort the data updates by block; an update of several blocks stands under each."""
        updates = self.updates
        if not len(updates):
            self._block_keys, self._block_updates = np.empty(0, np.int64), np.empty(0, np.int32)
            self._sizes, self._size_owner = np.empty(0, np.int32), np.empty(0, np.int32)
            return
        kind = np.frombuffer(updates.kind, np.int8)
        obj = np.frombuffer(updates.obj, np.int32)
        data = np.flatnonzero(kind == UpdateKind.DATA)
        start, length = (np.frombuffer(column, np.int64)[data] for column in (updates.start, updates.length))
        first, last = start // BLOCK, (start + length - 1) // BLOCK
        counts = last - first + 1
        owner = np.repeat(data, counts)
        offsets = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        keys = (obj[owner].astype(np.int64) << _BLOCK_BITS) | (np.repeat(first, counts) + offsets)
        order = np.argsort(keys, kind="stable")
        self._block_keys = keys[order]
        self._block_updates = owner[order].astype(np.int32)
        sizes = np.flatnonzero(kind == UpdateKind.SIZE)
        order = np.argsort(obj[sizes], kind="stable")
        self._sizes = sizes[order].astype(np.int32)
        self._size_owner = obj[self._sizes]

    def _index_metadata(self) -> None:
        updates = self.updates
        into = {UpdateKind.CUT: self.cuts, UpdateKind.ZERO: self.cuts, UpdateKind.MODE: self.modes}
        into[UpdateKind.XATTR] = self.xattrs
        kinds = np.frombuffer(updates.kind, np.int8) if len(updates) else np.empty(0, np.int8)
        for update in np.flatnonzero(np.isin(kinds, list(into))).tolist():
            into[UpdateKind(updates.kind[update])][updates.obj[update]].append(update)

    @cached_property
    def versions(self) -> BlockVersions:
        """What blocks hold after their first so many writes."""
        return BlockVersions(self)

    def of_block(self, file: int, block: int) -> list[int]:
        """Data updates that touch a block, in program order."""
        key = _block_key(file, block)
        known = self._known_blocks.get(key)
        if known is None:
            first, last = np.searchsorted(self._block_keys, (key, key + 1))
            known = self._remember(self._known_blocks, key, self._block_updates[first:last].tolist())
        return known

    def touched_blocks(self, file: int) -> set[int]:
        """All blocks of a file that any data update touches."""
        return self._touched_between(file, 0, 1 << _BLOCK_BITS)

    def _touched_between(self, file: int, low: int, high: int) -> set[int]:
        first, last = np.searchsorted(self._block_keys, (_block_key(file, 0) + low, _block_key(file, 0) + high))
        return set((self._block_keys[first:last] & ((1 << _BLOCK_BITS) - 1)).tolist())

    def data_from(self, file: int, offset: int) -> int:
        """The first offset, from one on, that the snapshot or any update fills."""
        position = int(np.searchsorted(self._block_keys, _block_key(file, offset // BLOCK)))
        found = NEVER
        if position < len(self._block_keys) and int(self._block_keys[position]) >> _BLOCK_BITS == file:
            found = max(offset, (int(self._block_keys[position]) & ((1 << _BLOCK_BITS) - 1)) * BLOCK)
        extents = self.tree.things[file].base_data
        for start, length, _ in extents[max(0, bisect_right(extents, offset, key=itemgetter(0)) - 1) :]:
            if start + length > offset:
                return min(found, max(offset, start))
        return found

    def sizes(self, file: int) -> list[int]:
        """SIZE updates of a file, in program order."""
        known = self._known_sizes.get(file)
        if known is None:
            first, last = np.searchsorted(self._size_owner, (file, file + 1))
            known = self._remember(self._known_sizes, file, self._sizes[first:last].tolist())
        return known

    @staticmethod
    def _remember(cache: dict[int, list[int]], key: int, value: list[int]) -> list[int]:
        """Keep what was looked up lately; a long trace must not become a second copy of itself."""
        if len(cache) >= _REMEMBERED:
            cache.clear()
        cache[key] = value
        return value

    def everything(self) -> Changes:
        """All names, blocks and attributes of the base and of all updates."""
        changes = Changes()
        for folder, names in self.tree.base.items():
            changes.entries.update((folder, name) for name in names)
        changes.entries.update(self.names)
        for number, thing in enumerate(self.tree.things):
            changes.meta.add(number)
            if thing.kind == ObjectKind.FILE:
                changes.blocks[number] = None
        return changes

    def touched(self, differing: Iterable[int]) -> Changes:
        """Where images differ if just these updates survive in one and not in the other."""
        updates, changes = self.updates, Changes()
        grown: dict[int, list[int]] = {}  # file -> its SIZE updates
        for update in differing:
            kind, obj = updates.kind[update], updates.obj[update]
            if kind == UpdateKind.DATA:
                start = updates.start[update]
                blocks = range(start // BLOCK, (start + updates.length[update] - 1) // BLOCK + 1)
                self._add_blocks(changes, obj, blocks)
            elif kind == UpdateKind.ENTRY:
                first = updates.start[update]
                for effect in range(first, first + updates.length[update]):
                    name = updates.names[updates.effect_name[effect]]
                    changes.entries.add((updates.effect_folder[effect], name))
            elif kind == UpdateKind.SIZE:
                grown.setdefault(obj, []).append(update)
            else:
                changes.meta.add(obj)
                if kind in (UpdateKind.CUT, UpdateKind.ZERO):
                    changes.blocks[obj] = None
        for file, sizes in grown.items():  # what was hidden behind the end may show now
            changes.meta.add(file)
            self._add_blocks(changes, file, self._grown_blocks(file, min(sizes), max(sizes)))
        return changes

    def _grown_blocks(self, file: int, first: int, last: int) -> Iterable[int]:
        """The touched blocks that these sizes may uncover, and those of the old and the new end."""
        sizes = self.sizes(file)
        position = bisect_left(sizes, first)
        low = self.updates.start[sizes[position - 1]] if position else self.tree.things[file].base_size
        high = self.updates.start[last]
        if file in self.cuts:  # a truncate may lie between: anything below may show
            low, high = 0, max(self.updates.start[size] for size in sizes)
        return self._touched_between(file, low // BLOCK, -(-high // BLOCK)) | {low // BLOCK, (high - 1) // BLOCK}

    @staticmethod
    def _add_blocks(changes: Changes, file: int, blocks: Iterable[int]) -> None:
        known = changes.blocks.setdefault(file, set())
        if known is not None:
            known.update(blocks)

    def path_of(self, obj: int, *, at: int | None = None) -> bytes:
        """The last path that the object had by update `at` (or ever), for messages."""
        names = self._names_of_objects.get(obj)
        if not names:
            return b"" if obj == 0 else b"(no name)"
        known = [place for update, place in names if at is None or update <= at]
        return self.path_at(known[-1] if known else names[0][1])

    @cached_property
    def _names_of_objects(self) -> dict[int, list[tuple[int, tuple[int, bytes]]]]:
        """Object -> (update that gave it the name, name), in program order."""
        found: dict[int, list[tuple[int, tuple[int, bytes]]]] = defaultdict(list)
        for folder, names in self.tree.base.items():
            for name, obj in names.items():
                found[obj].append((-1, (folder, name)))
        updates = self.updates
        for effect in range(len(updates.effect_update)):
            place = (updates.effect_folder[effect], updates.names[updates.effect_name[effect]])
            if updates.effect_value[effect] >= 0:
                found[updates.effect_value[effect]].append((updates.effect_update[effect], place))
        return found

    def path_at(self, place: tuple[int, bytes]) -> bytes:
        """The path of a name in a folder, for messages."""
        above = self.path_of(place[0]) if place[0] else b""
        return above + b"/" + place[1] if above else place[1]

    def describe(self, update: int) -> str:
        """An update in words."""
        updates = self.updates
        kind, obj, start = UpdateKind(updates.kind[update]), updates.obj[update], updates.start[update]
        name = self.path_of(obj, at=update).decode("utf-8", "replace") or "the data folder"
        if kind == UpdateKind.DATA:
            return f"bytes {start} to {start + updates.length[update]} of {name}"
        if kind == UpdateKind.SIZE:
            return f"the size of {name} growing to {start}"
        if kind == UpdateKind.CUT:
            return f"the truncation of {name} to {start} bytes"
        if kind == UpdateKind.ZERO:
            return f"the zeroing of bytes {start} to {start + updates.length[update]} of {name}"
        if kind == UpdateKind.MODE:
            return f"the mode of {name} becoming {start:o}"
        if kind == UpdateKind.XATTR:
            return f"attribute {updates.names[start].decode('utf-8', 'replace')} of {name}"
        return self._describe_entry(update)

    def _describe_entry(self, update: int) -> str:
        updates = self.updates
        first = updates.start[update]
        words = []
        for effect in range(first, first + updates.length[update]):
            place = (updates.effect_folder[effect], updates.names[updates.effect_name[effect]])
            path = self.path_at(place).decode("utf-8", "replace")
            words.append((path, updates.effect_value[effect] >= 0))
        if len(words) == 2 and not words[0][1]:
            return f"the rename of {words[0][0]} to {words[1][0]}"
        return " and ".join(f"the {'name' if there else 'removal of the name'} {path}" for path, there in words)

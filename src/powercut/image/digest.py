"""Digests of images: two states with the same digest hold the same files, so one of them is judged.

The digest of an image is the exclusive or of one hash for each name that ever changes or whose object does; moving
from state to state costs as much as the difference. Names are hashed with their folder's object number, so digests of
one trace compare across models (objects are numbered alike), but not across traces.
"""

from __future__ import annotations

from collections import defaultdict
from struct import Struct

from xxhash import xxh3_128_digest, xxh3_128_intdigest

from powercut import _engine
from powercut.image.image import ObjectKind
from powercut.image.view import StateImage
from powercut.states.state import State
from powercut.states.timeline import Timeline

_FACTS = Struct("<4q")  # of an object: kind, mode, number of names, size


class Digester:
    """Digests the images of one timeline, one after the other."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._state: State | None = None
        self._total = 0
        self._items: dict[tuple[int, bytes], int] = {}
        self._value: dict[tuple[int, bytes], int | None] = {}
        self._names: dict[int, set[tuple[int, bytes]]] = defaultdict(set)
        self._contents: dict[int, _Content] = {}
        self._base_names = self._names_of_touched()

    def digest(self, state: State) -> int:
        """The digest of a state's image."""
        image = self._timeline.image(state)
        if self._state is None:
            entries = set(self._base_names) | set(self._timeline.index.names)
            touched: set[int] = set()
        else:
            changes = self._timeline.changes(self._state, state)
            entries, touched = changes.entries, changes.meta | changes.blocks.keys()
            for file, blocks in changes.blocks.items():
                self._forget(file, blocks)
        self._state = state
        for entry in entries:
            touched |= self._follow(image, entry)
        for obj in touched:
            entries |= self._names[obj]
        for entry in entries:
            self._hash_entry(image, entry)
        return self._total

    def _names_of_touched(self) -> list[tuple[int, bytes]]:
        """Names of the snapshot whose objects change while the names stay."""
        changing = set(self._timeline.updates.obj)
        base = self._timeline.tree.base.items()
        return [(folder, name) for folder, names in base for name, obj in names.items() if obj in changing]

    def _forget(self, file: int, blocks: set[int] | None) -> None:
        content = self._contents.get(file)
        if content is not None:
            content.doubt(blocks)

    def _follow(self, image: StateImage, entry: tuple[int, bytes]) -> set[int]:
        """Keep track of which names stand for which object; the objects whose number of names changed."""
        before, after = self._value.get(entry), image.entry(*entry)
        if before == after:
            return set()
        if before is not None:
            self._names[before].discard(entry)
        if after is not None:
            self._names[after].add(entry)
        self._value[entry] = after
        return {obj for obj in (before, after) if obj is not None}

    def _hash_entry(self, image: StateImage, entry: tuple[int, bytes]) -> None:
        obj = self._value.get(entry)
        value = 0
        if obj is not None:
            content = self._hash_object(image, obj)
            value = xxh3_128_intdigest(entry[0].to_bytes(8, "little") + entry[1] + b"\0" + content)
        self._total ^= self._items.get(entry, 0) ^ value
        self._items[entry] = value

    def _hash_object(self, image: StateImage, obj: int) -> bytes:
        thing, index = self._timeline.tree.things[obj], self._timeline.index
        kind, size, more = thing.kind, 0, b""
        if obj in index.xattrs:
            more = b"".join(k + b"\0" + v + b"\0" for k, v in sorted(image.xattrs(obj).items()))
        if kind == ObjectKind.FILE:
            size = image.size(obj)
            content = self._contents.get(obj)
            if content is None:
                content = self._contents[obj] = _Content()
            more = content.hash(image, obj, size) + more
        elif kind == ObjectKind.SYMLINK:
            more += thing.target
        elif kind == ObjectKind.FOLDER:
            size = obj  # what is inside is hashed with the folder's number
        mode = image.mode(obj) if obj in index.modes else thing.mode
        return xxh3_128_digest(_FACTS.pack(kind, mode, len(self._names[obj]), size) + more)


class _Content:
    """The hashes of a file's blocks, and which of them must be made anew: None for all."""

    __slots__ = ("_hashes", "_stale", "_total")

    def __init__(self) -> None:
        self._hashes = _engine.BlockHashes()
        self._stale: set[int] | None = None
        self._total = b""

    def doubt(self, blocks: set[int] | None) -> None:
        if blocks is None or self._stale is None:
            self._stale = None
        else:
            self._stale |= blocks

    def hash(self, image: StateImage, file: int, size: int) -> bytes:
        """What stands for the content: the exclusive or of the hashes of all blocks that lie in the file."""
        if self._stale is None or self._stale:
            self._total = self._hashes.update(image.survivors, file, self._stale, size)
            self._stale = set()
        return self._total

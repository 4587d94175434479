"""Digests of images: two states with the same digest hold the same files, so only one of them is tested.

The digest of an image follows from state to state at the cost of the difference. Each folder has a sum, the exclusive
or of one hash for each name in it; the digest is the exclusive or of one hash for each folder's path and sum. So it
tells what an image holds and nothing of how it came to be: no numbers of objects or updates, which other traces give
differently. A digester leaves out what no update ever touches, unless it is told to digest images whole: whole digests
compare across models, traces, processes and machines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from struct import Struct

from xxhash import xxh3_128_digest, xxh3_128_intdigest

from powercut import _engine
from powercut.image.state_image import StateImage
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.states.tree import ROOT

IMAGE_FORMAT = 2  # to be raised when the same content would be digested, or built on disk, in another way
Entry = tuple[int, bytes]
_FACTS = Struct("<3q")  # of an object: kind, mode, size
_OUTSIDE = -1  # where the data folder itself has its name
_ROOT_ENTRY: Entry = (_OUTSIDE, b"")
_START = State(0, Base.GUARANTEED, frozenset())


class Digester:
    """Digests the images of one timeline, one after the other."""

    def __init__(self, timeline: Timeline, *, whole: bool = False) -> None:
        self._timeline = timeline
        self._whole = whole
        self._state: State | None = None
        self._items: dict[Entry, int] = {}
        self._value: dict[Entry, int | None] = {_ROOT_ENTRY: ROOT}
        self._names: dict[int, set[Entry]] = defaultdict(set, {ROOT: {_ROOT_ENTRY}})
        self._contents: dict[int, _Content] = {}
        self._folders = _Folders(timeline, self._names)
        self._links = _Links(self._names, self._folders)

    def digest(self, state: State) -> int:
        """The digest of a state's image."""
        image = StateImage(self._timeline, state)
        if self._state is None:
            entries = self._first_entries()
            touched: set[int] = {ROOT}
        else:
            changes = self._timeline.changes(self._state, state)
            entries, touched = changes.entries, changes.meta | changes.blocks.keys()
            for file, blocks in changes.blocks.items():
                self._forget(file, blocks)
        self._state = state
        stale = {entry for entry in entries if self._follow(image, entry)}
        for obj in touched:
            stale |= self._names[obj]
            if obj in self._contents:
                self._contents[obj].facts = b""
        for entry in stale:
            self._hash_entry(image, entry)
        return self._folders.total() ^ self._links.total()

    def _first_entries(self) -> set[Entry]:
        """The names to start with: those that change or whose objects do; of whole images the others are added once."""
        changing, tree = set(self._timeline.updates.obj), self._timeline.tree
        base = [((folder, name), obj) for folder, names in tree.base.items() for name, obj in names.items()]
        names = Counter(obj for _, obj in base)
        known = {entry for entry, obj in base if obj in changing or names[obj] > 1} | set(self._timeline.index.names)
        if self._whole:
            image = StateImage(self._timeline, _START)
            for entry, obj in base:
                if entry not in known:
                    facts = self._hash_object(image, obj, _Content())
                    self._folders.add(entry[0], xxh3_128_intdigest(entry[1] + b"\0" + facts))
        return known

    def _forget(self, file: int, blocks: set[int] | None) -> None:
        content = self._contents.get(file)
        if content is not None:
            content.doubt(blocks)

    def _follow(self, image: StateImage, entry: Entry) -> bool:
        """Keep track of which names stand for which object; whether this one stands for another than before."""
        before, after = self._value.get(entry), image.entry(*entry)
        if before == after:
            return False
        changed = {obj for obj in (before, after) if obj is not None}
        if before is not None:
            self._names[before].discard(entry)
        if after is not None:
            self._names[after].add(entry)
        self._value[entry] = after
        self._folders.renamed(changed)
        self._links.renamed(changed)
        return True

    def _hash_entry(self, image: StateImage, entry: Entry) -> None:
        obj = self._value.get(entry)
        value = 0
        if obj is not None:
            content = self._contents.get(obj)
            if content is None:
                content = self._contents[obj] = _Content()
            if not content.facts:
                content.facts = self._hash_object(image, obj, content)
            value = xxh3_128_intdigest(entry[1] + b"\0" + content.facts)
        before = self._items.get(entry, 0)
        if before != value:
            self._folders.add(entry[0], before ^ value)
            self._items[entry] = value

    def _hash_object(self, image: StateImage, obj: int, content: _Content) -> bytes:
        thing, index = self._timeline.tree.things[obj], self._timeline.index
        kind, size, more = thing.kind, 0, b""
        if obj in index.xattrs:
            more = b"".join(k + b"\0" + v + b"\0" for k, v in sorted(image.xattrs(obj).items()))
        if kind == ObjectKind.FILE:
            size = image.size(obj)
            more = content.hash(image, obj, size) + more
        elif kind == ObjectKind.SYMLINK:
            more += thing.target
        mode = image.mode(obj) if obj in index.modes else thing.mode
        return xxh3_128_digest(_FACTS.pack(kind, mode, size) + more)


class _Folders:
    """The sums of all folders, and the exclusive or of what stands for each: its paths and its sum."""

    def __init__(self, timeline: Timeline, names: dict[int, set[Entry]]) -> None:
        things, tree = timeline.tree.things, timeline.tree
        named = {obj for effects in timeline.index.names.values() for _, obj in effects if obj >= 0}
        self._names = names
        self._fixed: dict[int, set[Entry]] = {}  # folders of the snapshot whose name no update changes
        self._loose = {obj for obj in named if things[obj].kind == ObjectKind.FOLDER}  # paths may change
        for folder, inside in tree.base.items():
            for name, obj in inside.items():
                if things[obj].kind == ObjectKind.FOLDER:
                    if obj in self._loose or (folder, name) in timeline.index.names:
                        self._loose.add(obj)
                    else:
                        self._fixed[obj] = {(folder, name)}
        self._loosen()
        self._sums: dict[int, int] = defaultdict(int)
        self._parts: dict[int, int] = {}
        self._stale: set[int] = set()
        self._total = 0

    def _loosen(self) -> None:
        """What lies in a folder that moves, moves with it."""
        before = -1
        while len(self._loose) > before:
            before = len(self._loose)
            inside = (obj for obj, entries in self._fixed.items() if any(e[0] in self._loose for e in entries))
            self._loose.update(inside)

    def add(self, folder: int, change: int) -> None:
        """Change the sum of a folder."""
        self._sums[folder] ^= change
        self._stale.add(folder)

    def renamed(self, objects: set[int]) -> None:
        """Some objects got or lost a name."""
        if not self._loose.isdisjoint(objects):
            self._stale |= self._loose

    def total(self) -> int:
        """What stands for all folders together; those that cannot be reached count for nothing."""
        for folder in self._stale:
            part, summed = 0, self._sums[folder].to_bytes(16, "little")
            if any(summed):
                for path in self.paths(folder):
                    part ^= xxh3_128_intdigest(path + b"\0" + summed)
            self._total ^= self._parts.get(folder, 0) ^ part
            self._parts[folder] = part
        self._stale.clear()
        return self._total

    def paths(self, folder: int, inside: frozenset[int] = frozenset()) -> Iterator[bytes]:
        """The paths of a folder: none if it cannot be reached. A state may let folders lie in each other."""
        if folder == ROOT:
            yield b""
        elif folder == _OUTSIDE:
            yield b".."
        elif folder not in inside:
            for parent, name in self._fixed.get(folder) or self._names[folder]:
                for path in self.paths(parent, inside | {folder}):
                    yield path + b"/" + name


class _Links:
    """Which names are one file: the exclusive or of a hash for each file with several names that can be reached."""

    def __init__(self, names: dict[int, set[Entry]], folders: _Folders) -> None:
        self._names = names
        self._folders = folders
        self._linked: set[int] = set()
        self._stale = False
        self._total = 0

    def renamed(self, objects: set[int]) -> None:
        """Some objects got or lost a name."""
        for obj in objects:
            if len(self._names[obj]) > 1:
                self._linked.add(obj)
            elif obj in self._linked:
                self._linked.remove(obj)
                self._stale = True
        self._stale |= bool(self._linked)  # the name that changed may be that of a folder above

    def total(self) -> int:
        """What stands for all of them."""
        if self._stale:
            self._stale, self._total = False, 0
            for obj in self._linked:
                paths = [p + b"/" + name for folder, name in self._names[obj] for p in self._folders.paths(folder)]
                if len(paths) > 1:
                    self._total ^= xxh3_128_intdigest(b"\0".join([b"links", *sorted(paths)]))
        return self._total


class _Content:
    """What stands for one object: the hashes of a file's blocks, and which of them must be made anew (None: all).

    Attributes:
        facts: the hash of all that the object is; empty if it must be made anew.
    """

    __slots__ = ("_hashes", "_stale", "_total", "facts")

    def __init__(self) -> None:
        self.facts = b""
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

"""A second, independent statement of the file-system rules: slow, naive, and written from the rules alone.

Operations are plain tuples. Every subset of the updates is tried against every rule; every allowed subset is replayed
onto a dictionary of files. Nothing here comes from powercut but the rows themselves.

  ("create", path) ("mkdir", path) ("link", old, new) ("unlink", path) ("rename", old, new)
  ("write", path, offset, bytes, "" | "sync" | "dsync") ("truncate", path, size) ("falloc", path, offset, length)
  ("punch", path, offset, length) ("chmod", path, mode)
  ("fsync", path) ("fdatasync", path) ("sync",) ("print", text)
  ("store", path, offset, bytes, thread, "" | "nt") ("flush", path, offset, thread, "clflush" | "clwb")
  ("fence", thread) ("msync", path, offset, length): see memory_twin.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from powercut.model.filesystem import Exposed, FileSystem
from tests.models import memory_twin


@dataclass
class U:
    """One update: what it does and what the rules must know of it."""

    n: int
    op: int
    kind: str  # data size cut zero entry mode
    obj: int
    at: int = 0
    data: bytes = b""
    size_before: int = 0
    effects: list = field(default_factory=list)  # (folder, name, obj | None)
    meta: bool = False
    replaces: bool = False
    pieces: frozenset = frozenset()
    stored: bool = False


class World:
    """The live folder, only to know which object a path means and how long files are."""

    def __init__(self):
        self.names = {}  # (folder object, name) -> object
        self.size = {}
        self.folders = {0}
        self.next = 1

    def place(self, path):
        folder = 0
        *parents, name = path.split("/")
        for part in parents:
            folder = self.names[folder, part]
        return folder, name

    def obj(self, path):
        return self.names[self.place(path)] if path else 0


def updates_of(ops, row: FileSystem, world: World):
    """The updates of a run, op by op, and the objects that sync operations mean."""
    expansion = Expansion(row, world)
    for number, (what, *operands) in enumerate(ops):
        expansion.number = number
        getattr(expansion, what)(*operands)
    if row.data_in_journal:
        for u in expansion.updates:
            if u.kind in ("data", "size") and not u.stored:
                u.meta = True
    return expansion.updates, expansion.syncs


class Expansion:
    """What each operation comes to: one method for each, with its operands."""

    def __init__(self, row: FileSystem, world: World):
        self.row, self.world = row, world
        self.number = 0  # of the operation
        self.updates: list[U] = []
        self.syncs: list[tuple[int, str, object]] = []

    def _add(self, kind, obj, **more):
        self.updates.append(U(len(self.updates), self.number, kind, obj, **more))

    def _sync(self, what, obj=None):
        self.syncs.append((self.number, what, obj))

    def _new(self, path):
        obj, place = self.world.next, self.world.place(path)
        self.world.next += 1
        self._add("entry", obj, effects=[(*place, obj)], meta=True)
        self.world.names[place] = obj
        return obj

    def create(self, path):
        self.world.size[self._new(path)] = 0

    def mkdir(self, path):
        self.world.folders.add(self._new(path))

    def link(self, old, new):
        obj, place = self.world.obj(old), self.world.place(new)
        self._add("entry", obj, effects=[(*place, obj)], meta=True)
        self.world.names[place] = obj

    def unlink(self, path):
        place = self.world.place(path)
        self._add("entry", self.world.names.pop(place), effects=[(*place, None)], meta=True)

    def rename(self, old, new):
        names, old, new = self.world.names, self.world.place(old), self.world.place(new)
        obj, replaces = names[old], new in names
        if self.row.rename_is_atomic or obj in self.world.folders:
            self._add("entry", obj, effects=[(*old, None), (*new, obj)], meta=True, replaces=replaces)
        else:
            self._add("entry", obj, effects=[(*new, obj)], meta=True, replaces=replaces)
            self._add("entry", obj, effects=[(*old, None)], meta=True)
        del names[old]
        names[new] = obj

    def write(self, path, offset, data, synced):
        obj, size = self.world.obj(path), self.world.size
        for at, piece in pieces(offset, data, self.row.piece):
            end, unit = at + len(piece), min(self.row.piece, 4096)
            cells = frozenset(range(at // unit, (end - 1) // unit + 1))
            self._add("data", obj, at=at, data=piece, size_before=size[obj], pieces=cells)
            if end > size[obj]:
                self._add("size", obj, at=end)
                size[obj] = end
        if synced:
            self._sync("fsync" if synced == "sync" else "fdatasync", obj)

    def truncate(self, path, size):
        obj = self.world.obj(path)
        if self.world.size[obj] != size:
            self._add("cut", obj, at=size, meta=True)
            self.world.size[obj] = size

    def falloc(self, path, offset, length):
        obj, end = self.world.obj(path), offset + length
        if end > self.world.size[obj]:
            self._add("size", obj, at=end, meta=self.row.allocation_in_journal)
            self.world.size[obj] = end

    def punch(self, path, offset, length):
        self._add("zero", self.world.obj(path), at=offset, data=bytes(length), meta=True)

    def chmod(self, path, mode):
        self._add("mode", self.world.obj(path), at=mode, meta=True)

    def store(self, path, offset, data, *_):
        obj = self.world.obj(path)
        size = self.world.size[obj]
        self._sync("mapped", obj)
        data = data[: max(0, size - offset)]
        if data:
            cells = frozenset([offset // min(self.row.piece, 4096)])
            self._add("data", obj, at=offset, data=data, size_before=size, pieces=cells, stored=True)
            self._sync("store", obj)

    def flush(self, path, *_):
        self._sync("flush", self.world.obj(path))

    def msync(self, path, *_):
        self._sync("msync", self.world.obj(path))

    def fsync(self, path):
        self._sync("fsync", self.world.obj(path))

    def fdatasync(self, path):
        self._sync("fdatasync", self.world.obj(path))

    def sync(self):
        self._sync("sync")

    def fence(self, *_):
        self._sync("fence")

    def print(self, *_):
        """Nothing durable."""


def pieces(at, data, piece):
    """Cut a write where the medium may tear it."""
    end, start = at + len(data), at
    while at < end:
        edge = at + piece if piece > 4096 else at - at % piece + piece
        edge = min(edge, end)
        yield at, data[at - start : edge - start]
        at = edge


def needs(us: list[U], row: FileSystem, persistent: set[int]) -> list[set[int]]:
    """For each update, by its number, the earlier ones that a rule of order puts before it."""
    return [{a.n for a in us[: b.n] if must_precede(a, b, us, row, persistent)} for b in us]


def must_precede(a: U, b: U, us: list[U], row: FileSystem, persistent: set[int]) -> bool:
    """Whether a rule says: b never persists without the earlier a."""
    same = a.obj == b.obj
    if a.kind == b.kind == "data" and same:
        together = memory_twin.share_a_line(a, b) if a.obj in persistent else a.pieces & b.pieces
        if together:
            return True
    if a.kind == b.kind == "entry" and {e[:2] for e in a.effects} & {e[:2] for e in b.effects}:
        return True
    if a.kind == b.kind == "mode" and same:
        return True
    cuts_between = any(u.kind == "cut" and u.obj == a.obj for u in us[a.n + 1 : b.n])
    if a.kind == b.kind == "size" and same and not cuts_between:
        return True
    if a.kind in ("cut", "zero") and b.kind in ("cut", "zero") and same:
        return True
    if row.journal and a.meta and (b.meta or b.kind == "size"):
        return True
    if row.exposed is Exposed.NOTHING and a.kind == "data" and b.kind == "size" and same and a.n == b.n - 1:
        return a.op == b.op
    if row.truncate_before_data and a.kind in ("cut", "zero") and b.kind in ("data", "size") and same:
        return True
    if a.stored and a.obj in persistent:
        return False  # a rename flushes no caches
    return row.replace_flushes_data and b.replaces and same and a.kind in ("data", "size", "cut", "zero")


def guaranteed(us: list[U], syncs, row: FileSystem, until: int, folders: set[int]) -> set[int]:
    """What the syncs that returned before operation `until` promise directly (not what those updates need)."""
    sure: set[int] = set()
    for i, what, obj in syncs:
        if i >= until or what in memory_twin.OPERATIONS:
            continue
        past = [u for u in us if u.op <= i]
        if obj in folders:
            what = "fsync"
        if what == "sync":
            sure |= {u.n for u in past}
            continue
        sure |= {u.n for u in past if u.obj == obj and u.kind in ("data", "size", "cut", "zero")}
        if what == "fsync":
            sure |= {u.n for u in past if u.obj == obj and u.kind == "mode"}
            sure |= {u.n for u in past if any(e[0] == obj for e in u.effects)}
            if row.sync_commits_journal:
                sure |= {u.n for u in past if u.meta}
        if row.sync_persists_names if what == "fsync" else row.datasync_persists_names:
            sure |= named(past, obj, set())
    return sure


def named(past: list[U], obj: int, seen: set[int]) -> set[int]:
    """The updates that gave an object its names, and those of the folders these names lie in."""
    if obj in seen or obj == 0:
        return set()
    seen.add(obj)
    naming = [u for u in past if any(e[2] == obj for e in u.effects)]
    found = {u.n for u in naming}
    for u in naming:
        for e in u.effects:
            if e[2] == obj:
                found |= named(past, e[0], seen)
    return found


def image(s: set[int], us: list[U], row: FileSystem, files: set[int], folders: set[int]):
    """What a set of surviving updates leaves: path -> ("dir", mode) or ("file", mode, bytes)."""
    names, sizes = {}, dict.fromkeys(files, 0)
    modes = dict.fromkeys(files, 420) | dict.fromkeys(folders, 493)
    room = max((u.at + len(u.data) for u in us), default=0)
    content = {f: bytearray(room) for f in files}
    for u in us:
        if u.n in s:
            if u.kind == "entry":
                for folder, name, obj in u.effects:
                    if obj is None:
                        names.pop((folder, name), None)
                    else:
                        names[folder, name] = obj
            elif u.kind == "size":
                sizes[u.obj] = max(sizes[u.obj], u.at)
            elif u.kind == "cut":
                content[u.obj][u.at :] = bytes(room - u.at)
                sizes[u.obj] = u.at
            elif u.kind in ("data", "zero"):
                content[u.obj][u.at : u.at + len(u.data)] = u.data
            else:
                modes[u.obj] = u.at
        elif u.kind == "data" and row.exposed is Exposed.GARBAGE:
            fresh = max(u.at, u.size_before)
            content[u.obj][fresh : u.at + len(u.data)] = b"\xa5" * max(0, u.at + len(u.data) - fresh)
    result = {}

    def walk(folder, prefix):
        for (f, name), obj in names.items():
            if f == folder:
                if obj in folders:
                    result[prefix + name] = ("dir", modes[obj])
                    walk(obj, prefix + name + "/")
                else:
                    result[prefix + name] = ("file", modes[obj], bytes(content[obj][: sizes[obj]]))

    walk(0, "")
    return frozenset(result.items())


def all_images(ops, row: FileSystem, until: int):
    """Every image that a crash inside operation `until` can leave: its effects are on their way, its promise is not."""
    world = World()
    us, syncs = updates_of(ops, row, world)
    files, folders = set(world.size), world.folders
    issued = [u for u in us if u.op <= until]
    persistent = {obj for _, what, obj in syncs if what == "mapped"} if row.memory.persistent else set()
    sure = guaranteed(us, syncs, row, until, folders)
    sure |= memory_twin.guaranteed(ops, us, syncs, row, until, persistent, named)
    free = [u.n for u in issued if u.n not in sure]
    before = needs(issued, row, persistent)
    images = set()
    for r in range(len(free) + 1):
        for chosen in combinations(free, r):
            s = sure | set(chosen)
            if all(before[n] <= s for n in s):
                images.add(image(s, issued, row, files, folders))
    return images

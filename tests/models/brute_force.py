"""A second, independent statement of the file-system rules: slow, naive, and written from the rules alone.

Operations are plain tuples. Every subset of the updates is tried against every rule; every allowed subset is replayed
onto a dictionary of files. Nothing here comes from powercut but the rows themselves.

  ("create", path) ("mkdir", path) ("link", old, new) ("unlink", path) ("rename", old, new) ("exchange", path, path)
  ("write", path, offset, bytes, "" | "sync" | "dsync" | "direct") ("truncate", path, size)
  ("falloc", path, offset, length, "" | "keep" | "punch" | "zero" | "zerokeep") ("chmod", path, mode)
  ("fsync", path) ("fdatasync", path) ("sync",) ("print", text)
  ("store", path, offset, bytes, thread, "" | "nt") ("flush", path, offset, thread, "clflush" | "clwb")
  ("fence", thread) ("msync", path, offset, length): see memory_twin.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from powercut.model.filesystem import Datasync, Exposed, FileSystem, Rename, Truncate
from tests.models import memory_twin

BLOCK = 4096
FOREVER = 1 << 60


@dataclass
class U:
    """One update: what it does and what the rules must know of it."""

    n: int
    op: int
    kind: str  # data size cut zero fill clear entry mode
    obj: int
    at: int = 0
    data: bytes = b""
    effects: list = field(default_factory=list)  # (folder, name, obj | None)
    meta: bool = False  # goes through the journal
    pieces: frozenset = frozenset()
    stored: bool = False
    first: bool = False  # data: the first one of a block that had no place
    frees: tuple = (0, 0)  # offsets between which blocks are given back
    keeps: int = 0  # of a cut: bytes behind it that stay
    loose: bool = False  # a size that follows no other
    stop: bool = False  # a size that no call asked for, at which write-back may stop
    at_once: bool = False  # a size that waits for no write-back
    goes_after: int = -1  # the removal of a name that waits for this update
    creates: bool = False
    own: bool = True  # a change of names that is one of the file, too
    over_old: bool = False  # data or zeros in the place of old data
    cut_before: int = -1  # of a clear: the last truncate or hole before it


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


class Expansion:
    """What each operation comes to: one method for each, with its operands."""

    def __init__(self, ops, row: FileSystem, world: World):
        self.ops, self.row, self.world = ops, row, world
        self.number = 0  # of the operation
        self.updates: list[U] = []
        self.syncs: list[tuple[int, str, object]] = []
        self.passed_over: set[tuple[int, int]] = set()  # (file, block) that a size grew over
        self.placed: dict[int, set[int]] = {}  # files made by the program -> blocks that have a place
        for number, (what, *operands) in enumerate(ops):
            self.number = number
            getattr(self, what)(*operands)

    def _add(self, kind, obj, **more):
        u = U(len(self.updates), self.number, kind, obj, **more)
        if self.row.data_in_journal and kind in ("data", "fill") and not u.stored:
            u.meta = True
        self.updates.append(u)
        return u

    def _sync(self, what, obj=None):
        self.syncs.append((self.number, what, obj))

    def _new(self, path):
        obj, place = self.world.next, self.world.place(path)
        self.world.next += 1
        self._add("entry", obj, effects=[(*place, obj)], meta=True, creates=True)
        self.world.names[place] = obj
        return obj

    def create(self, path):
        obj = self._new(path)
        self.world.size[obj] = 0
        self.placed[obj] = set()

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
        obj = names[old]
        if self._in_one_step(obj, old, new):
            self._add("entry", obj, effects=[(*old, None), (*new, obj)], meta=True)
        else:
            come = self._add("entry", obj, effects=[(*new, obj)], meta=True)
            after = come.n if self.row.rename is Rename.ATOMIC_IN_FOLDER else -1
            self._add("entry", obj, effects=[(*old, None)], meta=True, goes_after=after)
        del names[old]
        names[new] = obj

    def _in_one_step(self, obj, old, new):
        if self.row.rename is Rename.ATOMIC or obj in self.world.folders:
            return True
        if self.row.rename is Rename.SPLIT or old[0] != new[0]:
            return False
        about = [u.obj for u in self.updates if any(e[:2] == old for e in u.effects)]
        return len(set(about)) < 2

    def exchange(self, one, other):
        names, one, other = self.world.names, self.world.place(one), self.world.place(other)
        effects = [(*one, names[other]), (*other, names[one])]
        self._add("entry", names[one], effects=effects, meta=True, own=False)
        names[one], names[other] = names[other], names[one]

    def write(self, path, offset, data, how):
        obj, size = self.world.obj(path), self.world.size
        if how == "direct":
            self._place(obj, offset, offset + len(data))
        for at, piece in pieces(offset, data, self.row.piece):
            end, grows, block = at + len(piece), at + len(piece) > size[obj], at // BLOCK
            if grows and self.row.exposed is Exposed.GARBAGE:
                low = max(at, size[obj])
                cuts = [u.n for u in self.updates if u.obj == obj and u.kind in ("cut", "zero")]
                self._add("clear", obj, at=low, data=bytes(end - low), cut_before=max(cuts, default=-1))
            over_old = not grows and (obj, block) not in self.passed_over
            first = self.row.new_blocks_first and obj in self.placed and block not in self.placed[obj]
            self._place(obj, at, end)
            self._add("data", obj, at=at, data=piece, pieces=self._cells(at, end), first=first, over_old=over_old)
            if grows:
                self._grow(obj, at, end)
            elif (obj, block) in self.passed_over:
                self.passed_over.discard((obj, block))
                self._add("size", obj, at=(block + 1) * BLOCK, loose=True, stop=True)
        if how in ("sync", "dsync"):
            self._sync("range fsync" if how == "sync" else "range fdatasync", (obj, offset, len(data)))

    def _cells(self, at, end):
        unit = min(self.row.piece, BLOCK)
        return frozenset(range(at // unit, (end - 1) // unit + 1))

    def _place(self, obj, start, end):
        if obj in self.placed:
            self.placed[obj] |= set(range(start // BLOCK, (end - 1) // BLOCK + 1))

    def _grow(self, obj, at, end):
        at_once, size = self.row.size_in_journal, self.world.size[obj]
        edge = round_up(size)
        if not at_once:
            if size < edge < end:
                self._add("size", obj, at=edge, stop=True)
            self.passed_over |= {(obj, block) for block in range(edge // BLOCK, at // BLOCK)}
        self._add("size", obj, at=end, meta=at_once, at_once=at_once)
        self.world.size[obj] = end

    def _fill(self, obj, start, end, early=False):
        for at, zeros in pieces(start, bytes(max(0, end - start)), self.row.piece):
            u = self._add("fill", obj, at=at, data=zeros, pieces=self._cells(at, at + len(zeros)), over_old=True)
            u.meta = u.meta and not early

    def truncate(self, path, size):
        obj, how = self.world.obj(path), self.row.truncate
        old, edge = self.world.size[obj], round_up(size)
        if old == size:
            return
        if how is not Truncate.AT_ONCE:
            self._fill(obj, size, min(edge, old))
        keeps = edge - size if how is Truncate.ZEROED_APART else FOREVER if how is Truncate.FREED_APART else 0
        frees = (edge, FOREVER) if edge < old else (0, 0)
        apart = how is Truncate.FREED_APART and edge < old
        self._add("cut", obj, at=size, meta=True, keeps=keeps, frees=(0, 0) if apart else frees)
        if apart:
            self._add("zero", obj, at=edge, data=bytes(old - edge), meta=True, frees=frees)
        self._free(obj, *frees)
        self.passed_over = {(o, block) for o, block in self.passed_over if o != obj}
        self.world.size[obj] = size

    def _free(self, obj, low, high):
        if low == high:
            return
        if obj in self.placed:
            self.placed[obj] = {block for block in self.placed[obj] if not low <= block * BLOCK < high}

    def falloc(self, path, offset, length, how):
        obj, end = self.world.obj(path), offset + length
        if how in ("", "zero") and end > self.world.size[obj]:
            meta = self.row.allocation_in_journal and how == ""
            self._add("size", obj, at=end, meta=meta, at_once=True)
            self.world.size[obj] = end
        elif how != "keep" and self._has_grown(obj) and end < self.world.size[obj] and not self.row.size_in_journal:
            self._add("size", obj, at=end, loose=True, stop=True)
        if how in ("punch", "zero", "zerokeep"):
            self._hole(obj, offset, end, how == "punch")
        if how != "punch":
            self._place(obj, offset, end)

    def _has_grown(self, obj):
        sizes = [u.n for u in self.updates if u.obj == obj and u.kind == "size" and not u.loose]
        cuts = [u.n for u in self.updates if u.obj == obj and u.kind == "cut"]
        return max(sizes, default=-1) > max(cuts, default=-1)

    def _hole(self, obj, start, end, frees):
        low, high = round_up(start), end - end % BLOCK
        self._fill(obj, start, min(low, end))
        self._fill(obj, max(low, high), end)
        if not frees and high - low <= 8 * BLOCK:
            self._fill(obj, low, high, early=True)
        if low < high:
            freed = (low, high) if frees else (0, 0)
            self._add("zero", obj, at=low, data=bytes(high - low), meta=True, frees=freed)
            self._free(obj, *freed)

    def chmod(self, path, mode):
        self._add("mode", self.world.obj(path), at=mode, meta=True)

    def store(self, path, offset, data, *_):
        obj = self.world.obj(path)
        size = self.world.size[obj]
        self._sync("mapped", obj)
        self.placed.pop(obj, None)
        data = data[: max(0, size - offset)]
        if data:
            cells = self._cells(offset, offset + 1)
            over_old = not self.row.memory.persistent
            self._add("data", obj, at=offset, data=data, pieces=cells, stored=True, over_old=over_old)
            self._sync("store", obj)

    def flush(self, path, *_):
        self._sync("flush", self.world.obj(path))
        self.placed.pop(self.world.obj(path), None)

    def msync(self, path, offset, length):
        self._sync("range fdatasync", (self.world.obj(path), offset, length))

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


def round_up(offset):
    return -(-offset // BLOCK) * BLOCK


def pieces(at, data, piece):
    """Cut a write where the medium may tear it."""
    end, start = at + len(data), at
    while at < end:
        edge = min(at - at % piece + piece, end)
        yield at, data[at - start : edge - start]
        at = edge


def needs(us: list[U], row: FileSystem, persistent: set[int]) -> list[set[int]]:
    """For each update, by its number, the earlier ones that a rule of order puts before it."""
    return [{a.n for a in us[: b.n] if must_precede(a, b, us, row, persistent)} for b in us]


def must_precede(a: U, b: U, us: list[U], row: FileSystem, persistent: set[int]) -> bool:
    """Whether a rule says: b never persists without the earlier a."""
    same, written = a.obj == b.obj, ("data", "fill")
    if a.kind in written and b.kind in written and same:
        together = memory_twin.share_a_line(a, b) if a.obj in persistent else a.pieces & b.pieces
        if together:
            return True
    if a.kind == b.kind == "entry" and {e[:2] for e in a.effects} & {e[:2] for e in b.effects}:
        return True
    if a.n == b.goes_after or (b.kind == "clear" and a.n == b.cut_before):
        return True
    if a.kind == b.kind == "mode" and same:
        return True
    cuts_between = any(u.kind == "cut" and u.obj == a.obj for u in us[a.n + 1 : b.n])
    if a.kind == b.kind == "size" and same and not (cuts_between or a.loose or b.loose):
        return True
    if a.kind in ("cut", "zero") and b.kind in ("cut", "zero") and same:
        return True
    if a.kind == "cut" and b.kind == "size" and same:
        return True
    if row.journal and a.meta and (b.meta or b.kind == "size"):
        return True
    if a.kind == "data" and b.kind == "size" and same and a.n == b.n - 1 and a.op == b.op:
        return row.exposed is Exposed.NOTHING or a.first
    if row.freed_before_data and b.kind in written and same and a.frees[0] <= b.at < a.frees[1]:
        return not any(u.frees[1] and u.obj == a.obj for u in us[a.n + 1 : b.n])
    return False


class Promises:
    """What the syncs before an operation promise, with all that it needs; and the names of that moment."""

    def __init__(self, expansion: Expansion, until: int):
        self.row, self.us, self.until = expansion.row, expansion.updates, until
        self.ops, self.folders = expansion.ops, expansion.world.folders
        stored = {obj for _, what, obj in expansion.syncs if what == "mapped"}
        self.persistent = stored if self.row.memory.persistent else set()
        self.before = needs(self.us, self.row, self.persistent)
        self.sure: set[int] = set()
        for i, what, obj in expansion.syncs:
            past = [u for u in self.us if u.op <= i]
            if what in memory_twin.OPERATIONS:
                found = memory_twin.promised(self, i, what, obj)
            elif i < until:
                found = self._promised(past, what, obj)
            else:
                found = set()
            self.sure |= self.closed(found)

    def closed(self, found: set[int]) -> set[int]:
        while more := {need for n in found for need in self.before[n]} - found:
            found = found | more
        return found

    def _promised(self, past: list[U], what: str, obj) -> set[int]:
        if what == "sync":
            return {u.n for u in past if self.row.sync_flushes or not u.over_old}
        row, low, high = self.row, 0, FOREVER
        if what.startswith("range "):
            what, (obj, start, length) = what[6:], obj
            low, high = start - start % BLOCK, round_up(start + length)
        full = what == "fsync" or obj in self.folders or row.datasync is Datasync.EVERYTHING
        mine = [u for u in past if u.obj == obj]
        found = {u.n for u in mine if u.kind in ("cut", "zero")}
        found |= {u.n for u in mine if u.kind in ("data", "fill", "clear")
                  and u.at < high and u.at + len(u.data) > low}  # fmt: skip
        whole = (low, high) == (0, FOREVER)
        found |= {u.n for u in mine if u.kind == "size" and (whole or u.at_once or (low < u.at <= high and not u.stop))}
        if full:
            found |= {u.n for u in mine if u.kind == "mode"}
        if obj in self.folders:
            found |= {u.n for u in past if any(e[0] == obj for e in u.effects)}
        if full and row.sync_persists_names:
            self.sure |= self.closed(found)
            return self.names(past, obj)
        if row.datasync is Datasync.CREATION:
            found |= {u.n for u in mine if u.creates}
        return found

    def names(self, past: list[U], obj: int) -> set[int]:
        """What a sync that persists names promises of those of an object."""
        naming = self._own(past, obj)
        if self.row.journal:
            return {u.n for u in naming}
        live: dict = {}
        for u in past:
            live.update({e[:2]: e[2] for e in u.effects})
        homes = {o: place[0] for place, o in live.items() if o is not None}
        found = set()
        for u in naming:
            now = [e[0] for e in u.effects if e[2] == obj and live[e[:2]] == obj]
            if now or not takes_along(u, obj, self):
                found |= self.closed({u.n})
                self.sure |= found
            for folder in now:
                found |= self._new_folders(past, folder, homes)
        if obj in self.folders:
            found |= self._new_folders(past, obj, homes)
        return found

    @staticmethod
    def _own(past: list[U], obj: int) -> list[U]:
        entries = [u for u in past if u.kind == "entry" and u.own]
        return [u for u in entries if u.obj == obj or any(e[2] == obj for e in u.effects)]

    def _new_folders(self, past: list[U], folder: int, homes: dict) -> set[int]:
        found: set[int] = set()
        while folder != 0:
            changes = self._own(past, folder)
            if len([u for u in changes if u.n not in self.sure or u.creates]) == 1 and all(u.creates for u in changes):
                found |= {u.n for u in changes}
            folder = homes.get(folder, 0)
        return found


def takes_along(update: U, obj: int, promises: Promises) -> bool:
    """Whether an update needs changes of other files that are not promised yet."""
    open_ = promises.closed({update.n}) - promises.sure
    return any(promises.us[n].obj != obj for n in open_)


def image(s: set[int], us: list[U], files: set[int], folders: set[int]):
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
                gone = u.at + u.keeps
                content[u.obj][gone:] = bytes(max(0, room - gone))
                sizes[u.obj] = u.at
            elif u.kind in ("data", "zero", "fill", "clear"):
                content[u.obj][u.at : u.at + len(u.data)] = u.data
            else:
                modes[u.obj] = u.at
        elif u.kind == "clear" and (u.cut_before < 0 or u.cut_before in s):
            content[u.obj][u.at : u.at + len(u.data)] = b"\xa5" * len(u.data)
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
    promises = Promises(Expansion(ops, row, world), until)
    us, sure = promises.us, promises.sure
    files, folders = set(world.size), world.folders
    issued = [u for u in us if u.op <= until]
    free = [u.n for u in issued if u.n not in sure]
    images = set()
    for r in range(len(free) + 1):
        for chosen in combinations(free, r):
            s = sure | set(chosen)
            if all(promises.before[n] <= s for n in s):
                images.add(image(s, issued, files, folders))
    return images

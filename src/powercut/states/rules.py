"""The rules: how a file-system row turns the events of a trace into updates, order and guarantees.

Before: a trace and a `FileSystem` row. After: `Updates` in which

  R1  updates of one piece of data, one name, one mode or attribute need their predecessor; so do truncates and holes
      of one file; and growing sizes between two truncates;
  R2  with a journal, metadata updates need the metadata update before them (with data in the journal: all do);
  R3  with a journal, a grown size needs the last metadata update before it;
  R4  where a size never outruns its data, a grown size needs the data it covers;
  R5  where freeing comes before data, data needs the last truncate or hole of its file if that freed its block; sizes
      need the last truncate;
  R6  where new blocks come first, a size that comes with the first write to a new block of a file that the program made
      needs that write;
  R7  fsync guarantees the file's updates, a folder's names; where syncs persist names, all changes of the names of the
      file or folder (without a journal: its names of this moment, and new folders above them), but for an exchange;
  R8  fdatasync guarantees data, sizes and truncates of the file; beside it what the row says; of a folder it is fsync;
  R9  a write with O_SYNC or O_DSYNC, and msync, end with an fsync or fdatasync that leaves out data in other pages, and
      sizes that were brought by writes to other pages, or lie on the way to those (R12); sync and syncfs guarantee all,
      but for data over old data where they do not flush; sync_file_range guarantees nothing;
  R10 a guarantee of an update is a guarantee of all it needs;
  R11 a truncate or hole is up to three kinds of updates: the zeroing of parts of blocks, which is data; the cut itself;
      and the freeing of whole blocks; of a zeroed range of few blocks, each block may be zeros before that;
  R12 a size that waits for write-back may also persist as the end of a block below it: of the block in which the file
      ended before, and of blocks in a hole that are written later; or as the end of a range that fallocate changes.

Which updates there are never depends on syncs: a run with one more or one less has the same, with other guarantees.

What syncs guarantee (R7 to R10) is in `guarantees.py`. What the program stores through mappings follows
`memory_rules.py`, in the same order of events.

`tests/models/brute_force.py` states the same rules a second time, independently.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from powercut import _engine
from powercut.model.filesystem import BLOCK, Exposed, FileSystem, Rename, Truncate
from powercut.model.memory import PAGE_CACHE
from powercut.quick_dataclass import dataclass
from powercut.states.guarantees import Guarantees
from powercut.states.memory_rules import MappedFiles, flags_of, media
from powercut.states.objects import ObjectKind
from powercut.states.state import NEVER
from powercut.states.tree import Thing, Tree, owner_in
from powercut.states.unwritten import Unwritten
from powercut.states.updates import UpdateKind, Updates
from powercut.trace.layout import (
    DATA,
    EXTRA,
    FLAGS,
    INODE,
    KIND,
    LENGTH,
    MEMORY,
    OFFSET,
    PATH,
    PATH2,
    Flag,
    Kind,
    Record,
)
from powercut.trace.reader import Trace

FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_COLLAPSE, FALLOC_ZERO_RANGE, FALLOC_INSERT = 1, 2, 8, 16, 32
MS_SYNC = 4
Freed = tuple[int, int, int]  # a truncate or hole, and the offsets from and to which it freed blocks
MappedFile = tuple[int, int, int, int, Freed]  # see _engine.Chains.run
_NOTHING_FREED: Freed = (-1, 0, 0)
_MOST_ZEROED = 8 * BLOCK  # of a zeroed range; ext4 writes zeros into so few blocks rather than to split an extent
_CREATES: dict[int, ObjectKind] = {
    Kind.MKDIR: ObjectKind.FOLDER,
    Kind.SYMLINK: ObjectKind.SYMLINK,
    Kind.MKNOD: ObjectKind.OTHER,
}
_SYNC, _DSYNC, _DIRECT, _IMPORT = map(int, (Flag.SYNC, Flag.DSYNC, Flag.DIRECT, Flag.IMPORT))  # this loop is hot


@dataclass(frozen=True, slots=True)
class ExtraSync:
    """A sync that the program does not make: a proposed fix, tried in the model.

    Attributes:
        before: index of the event in front of which it returns.
        obj: the file or folder that is synced.
        data_only: fdatasync instead of fsync.
        update: not the whole file, only the cache line of this update: a flush and a fence. -1: the whole file.
    """

    before: int
    obj: int
    data_only: bool = False
    update: int = -1


class Rules:
    """Applies one row to one trace, event by event."""

    def __init__(
        self, trace: Trace, row: FileSystem, extra: Iterable[ExtraSync] = (), skip: Iterable[int] = ()
    ) -> None:
        self.trace = trace
        self.row = row
        self.tree = Tree()
        self.updates = Updates()
        self.notes: list[str] = []
        self.subjects: dict[int, int] = {}  # sync, close or rename event -> the object it is about
        self._extra: Mapping[int, list[ExtraSync]] = _by_event(extra)
        self._skip = frozenset(skip)  # syncs, flushes, fences that are taken away; of a write, only its sync is
        self._stops = sorted({*self._extra, *self._skip})
        self._event = 0
        self._unit = min(row.piece, BLOCK)
        self._last_size: dict[int, int] = {}
        self._last_cut: dict[int, int] = {}  # truncates, holes, and what they free
        self._last_truncate: dict[int, int] = {}  # truncates alone
        self._freed: dict[int, Freed] = {}
        self._holes: dict[int, list[tuple[int, int]]] = {}  # file -> offsets, in blocks, that sizes grew over
        self._placed: dict[int, set[int]] = {}  # R6: blocks that have, or may have, a place on the disk
        self._last_name: dict[tuple[int, bytes], int] = {}
        self._reused: set[tuple[int, bytes]] = set()  # names that changes of several files or folders were about
        self._last_attribute: dict[tuple[int, int], int] = {}
        self._last_journal = -1
        self._media = media(trace, row.memory)
        self._mapped = MappedFiles(trace)
        self._chains = _engine.Chains(self._unit)
        self._unwritten = Unwritten(trace, self.tree)
        self._waiting = Guarantees(row, self.tree, self.updates, self._chains)
        self._handlers: dict[int, Callable[[Record], None]] = {
            Kind.CREATE: self._create,
            Kind.MKDIR: self._create,
            Kind.SYMLINK: self._create,
            Kind.MKNOD: self._create,
            Kind.LINK: self._link,
            Kind.UNLINK: self._unlink,
            Kind.RMDIR: self._unlink,
            Kind.RENAME: self._rename,
            Kind.WRITE: self._write,
            Kind.TRUNCATE: self._truncate,
            Kind.FALLOCATE: self._fallocate,
            Kind.SETATTR: self._set_mode,
            Kind.SETXATTR: self._set_attribute,
            Kind.DELXATTR: self._set_attribute,
            Kind.FSYNC: self._fsync,
            Kind.FDATASYNC: self._fsync,
            Kind.CLOSE: self._close,
            Kind.MSYNC: self._msync,
            Kind.SYNC: lambda event: self._waiting.sync_all(),
            Kind.SYNCFS: lambda event: self._waiting.sync_all(),
            Kind.MMAP: self._mmap,
        }

    @property
    def in_lines(self) -> Set[int]:
        """Files whose data persist by cache lines: persistent memory."""
        return self._waiting.in_lines

    def apply(self) -> Updates:
        """Run over the whole trace."""
        first = self.tree.load_snapshot(self.trace)
        for index, record in self.trace.calls(first):
            if record[KIND] == Kind.MEMORY:
                self._memory(index, record)
            else:
                self._call(index, record)
        self._add_syncs(len(self.trace.events))
        return self.updates

    def _call(self, index: int, record: Record) -> None:
        self._add_syncs(index)
        handler = self._handlers.get(record[KIND])
        if handler is not None and (index not in self._skip or record[KIND] == Kind.WRITE):
            self._event, self._waiting.now = index, 2 * index + 1
            try:
                handler(record)
            except KeyError:
                name = Kind(record[KIND]).name.lower()
                self.notes.append(f"event {index} ({name}) names a path that the trace does not know; left out")

    def _add_syncs(self, index: int) -> None:
        """Make the syncs that are to return before an event."""
        for sync in self._extra.get(index, ()):
            self._waiting.now = 2 * index - 1
            self._add_sync(sync)

    def _add_sync(self, sync: ExtraSync) -> None:
        if sync.update < 0:
            self._waiting.sync(sync.obj, data_only=sync.data_only)
        elif sync.update < len(self.updates):
            self._waiting.guarantee((sync.update,))

    # Updates and their needs

    def _add(self, kind: UpdateKind, obj: int, needs: list[int], journalled: bool, **columns: int) -> int:
        """Append an update; R2 where it goes through the journal."""
        if self.row.journal and journalled and self._last_journal >= 0:
            needs.append(self._last_journal)
        number = self.updates.add(kind, obj, self._event, needs, **columns)
        if self.row.journal and journalled:
            self._last_journal = number
        return number

    def _add_entry(
        self, obj: int, effects: list[tuple[int, bytes, int]], needs: list[int] | None = None, *, own: bool = True
    ) -> int:
        """Append a change of names: R1 per name, R2. `own`: it is a change of the file or folder, too."""
        needs = needs or []
        for folder, name, _ in effects:
            last = self._last_name.get((folder, name))
            if last is not None:
                needs.append(last)
        first = len(self.updates.effect_update)
        number = self._add(UpdateKind.ENTRY, obj, needs, True, start=first, length=len(effects))
        for folder, name, value in effects:
            self.updates.add_effect(number, folder, name, value)
            last = self._last_name.get((folder, name), -1)
            if last >= 0 and self.updates.obj[last] != obj:
                self._reused.add((folder, name))
            self._last_name[folder, name] = number
            self._waiting.inside[folder].append(number)
        for named in {obj, *(value for _, _, value in effects if value >= 0)} if own else ():
            self._waiting.naming[named].append(number)
        return number

    def _add_metadata(self, kind: UpdateKind, obj: int, chain: dict[Any, int], key: Any, **columns: int) -> int:
        """Append a metadata update of an object that follows its predecessor of the same key (R1, R2)."""
        needs = [chain[key]] if key in chain else []
        number = self._add(kind, obj, needs, True, **columns)
        chain[key] = number
        self._waiting.of_object[obj].append(number)
        return number

    def _add_data(self, obj: int, start: int, length: int, blob: int, old_size: int) -> None:
        """Append one piece of data, and the size it grows the file to (R1, R3 to R6, R12)."""
        end = start + length
        if end > old_size and self.row.exposed is Exposed.GARBAGE:
            self._clear(obj, max(start, old_size), end)
        data = [] if self._is_nothing(obj, start, length, blob) else [self._add_bytes(obj, start, length, blob)]
        placed = self._placed.get(obj)
        waits = self.row.exposed is Exposed.NOTHING or (placed is not None and start // BLOCK not in placed)
        if placed is not None:
            placed.add(start // BLOCK)
        if end > old_size:
            self._grow_by_write(obj, start, end, data if waits else [])
        elif obj in self._holes:
            self._write_into_hole(obj, start)

    def _is_nothing(self, obj: int, start: int, length: int, blob: int) -> bool:
        """Whether a piece of data is zeros where there are zeros whatever is lost, and nothing waits for it."""
        matters = self.row.exposed is not Exposed.ZEROS or self.row.data_in_journal or obj in self._waiting.in_lines
        return not matters and self._unwritten.takes(obj, start, length, blob)

    def _add_bytes(self, obj: int, start: int, length: int, blob: int) -> int:
        needs, in_journal = self._data_needs(obj, start, length), self.row.data_in_journal
        data = self._add(UpdateKind.DATA, obj, needs, in_journal, start=start, length=length, data=blob)
        self._waiting.of_object[obj].append(data)
        return data

    def _data_needs(self, obj: int, start: int, length: int) -> list[int]:
        """What the next update, of this piece of data, needs (R1, R5, M1)."""
        needs = self._chains.follow(obj, start, length, len(self.updates))
        cut, low, high = self._freed.get(obj, _NOTHING_FREED)
        if cut >= 0 and low <= start < high:
            needs.append(cut)
        return needs

    def _add_fill(self, obj: int, start: int, end: int, *, early: bool = False) -> None:
        """Append zeros that are written as data are; `early`, without waiting for a journal of data."""
        in_journal = self.row.data_in_journal and not early
        for position, length in self._pieces(start, end):
            needs = self._data_needs(obj, position, length)
            fill = self._add(UpdateKind.FILL, obj, needs, in_journal, start=position, length=length)
            self._waiting.of_object[obj].append(fill)

    def _clear(self, obj: int, start: int, end: int) -> None:
        """Append that new bytes of a file are zeros: where this is lost and data does not come, garbage shows."""
        cut = self._last_cut.get(obj, -1)  # if it is lost, the bytes are still the old ones
        needs = [cut] if cut >= 0 else []
        clearing = self._add(UpdateKind.FILL, obj, needs, False, start=start, length=end - start, fresh=True, data=cut)
        self._waiting.of_object[obj].append(clearing)

    def _pieces(self, position: int, end: int) -> Iterator[tuple[int, int]]:
        """Offset and length of the pieces in which a range of a file persists."""
        piece = self.row.piece
        while position < end:
            size = min((position // piece + 1) * piece, end) - position
            yield position, size
            position += size

    def _grow_by_write(self, obj: int, start: int, end: int, needs: list[int]) -> None:
        """The size that a write brings, and the sizes below at which its write-back may stop (R12)."""
        at_once, size = self.row.size_in_journal, self.tree.size.get(obj, 0)
        edge = -(-size // BLOCK) * BLOCK
        if not at_once and size < edge < end:
            self._grow(obj, edge, [], False)
            self._waiting.on_the_way.add(self._last_size[obj])
        if not at_once and edge // BLOCK < start // BLOCK:
            self._holes.setdefault(obj, []).append((edge // BLOCK, start // BLOCK))
        self._grow(obj, end, needs, at_once)

    def _write_into_hole(self, obj: int, start: int) -> None:
        """A block that is written back before the size above it is: the file may end with it (R12)."""
        block = start // BLOCK
        for number, (low, high) in enumerate(self._holes[obj]):
            if low <= block < high:
                self._holes[obj][number : number + 1] = [(low, block), (block + 1, high)]
                self._waiting.on_the_way.add(self._add_size(obj, (block + 1) * BLOCK, [], False))
                return

    def _grow(self, obj: int, size: int, needs: list[int], journalled: bool) -> None:
        """Append a grown size, which follows the one before it (R1)."""
        if obj in self._last_size:
            needs.append(self._last_size[obj])
        number = self._last_size[obj] = self._add_size(obj, size, needs, journalled)
        if journalled:
            self._waiting.at_once.add(number)
        self.tree.size[obj] = size

    def _add_size(self, obj: int, size: int, needs: list[int], journalled: bool) -> int:
        """Append a size (R3, R5)."""
        if obj in self._last_truncate:
            needs.append(self._last_truncate[obj])
        if self.row.journal and not journalled and self._last_journal >= 0:
            needs.append(self._last_journal)
        number = self._add(UpdateKind.SIZE, obj, needs, journalled, start=size)
        self._waiting.of_object[obj].append(number)
        return number

    # Events

    def _create(self, event: Record) -> None:
        kind = _CREATES.get(event[KIND], ObjectKind.FILE)
        thing = Thing(kind, event[EXTRA] & 0o7777, owner=owner_in(event[OFFSET]))
        if kind is ObjectKind.SYMLINK:
            thing.target = self.trace.blob(event[DATA], event[LENGTH])
        place = None if event[FLAGS] & Flag.TMPFILE else self._place(event, PATH)
        obj = self.tree.add(event[INODE], thing)
        if kind is ObjectKind.FILE and self.row.new_blocks_first:
            self._placed[obj] = set()
        if place is not None:
            self._waiting.creation[obj] = self._add_entry(obj, [(*place, obj)])
            self.tree.put(*place, obj)

    def _link(self, event: Record) -> None:
        obj = self.tree.object_of(event[INODE])
        place = self._place(event, PATH2)
        if obj in self.tree.live:
            raise KeyError(obj)
        self._add_entry(obj, [(*place, obj)])
        self.tree.put(*place, obj)

    def _unlink(self, event: Record) -> None:
        obj = self.tree.object_of(event[INODE])
        folder, name = self._place(event, PATH)
        self._add_entry(obj, [(folder, name, -1)])
        self.tree.live[folder].pop(name, None)

    def _rename(self, event: Record) -> None:
        obj = self.subjects[self._event] = self.tree.object_of(event[INODE])
        old, new = self._place(event, PATH), self._place(event, PATH2)
        replaced = self.tree.live[new[0]].get(new[1])
        self.tree.require_room(new[0], obj)
        if event[FLAGS] & Flag.EXCHANGE and replaced is not None:
            self.tree.require_room(old[0], replaced)
            self._add_entry(obj, [(*old, replaced), (*new, obj)], own=False)  # XFS changes the folders alone
            self.tree.put(*old, replaced)
            self.tree.put(*new, obj)
            return
        if self._is_split(obj, old, new):
            come = self._add_entry(obj, [(*new, obj)])
            self._add_entry(obj, [(*old, -1)], [come] if self.row.rename is Rename.ATOMIC_IN_FOLDER else [])
        else:
            self._add_entry(obj, [(*old, -1), (*new, obj)])
        self.tree.live[old[0]].pop(old[1], None)
        self.tree.put(*new, obj)

    def _is_split(self, obj: int, old: tuple[int, bytes], new: tuple[int, bytes]) -> bool:
        """Whether the new name of a rename comes in one step and the old one goes in another."""
        if self.row.rename is Rename.ATOMIC or obj in self.tree.live:
            return False
        return self.row.rename is Rename.SPLIT or old[0] != new[0] or old in self._reused

    def _write(self, event: Record) -> None:
        obj = self._file(event[INODE])
        start, length, blob, flags = (event[key] for key in (OFFSET, LENGTH, DATA, FLAGS))
        if flags & _IMPORT:  # what came from outside is taken as durable
            self.tree.things[obj].base_data.append((start, length, blob))
            self._unwritten.hold(obj, start + length)
            self.tree.things[obj].base_size = self.tree.size[obj] = max(self.tree.size.get(obj, 0), start + length)
            return
        if flags & _DIRECT:
            self._place_blocks(obj, start, start + length)  # they get their place now, not at write-back
        for position, size in self._pieces(start, start + length):
            self._add_data(obj, position, size, blob + position - start, self.tree.size.get(obj, 0))
        if flags & (_SYNC | _DSYNC) and self._event not in self._skip:
            self._waiting.sync(obj, data_only=not flags & _SYNC, within=_pages(start, length))

    def _truncate(self, event: Record) -> None:
        obj, size = self.tree.object_of(event[INODE]), event[LENGTH]
        old, edge = self.tree.size.get(obj, 0), -(-size // BLOCK) * BLOCK
        if size == old:
            return
        steps = self.row.truncate
        if size < min(edge, old) and steps is not Truncate.AT_ONCE:
            self._add_fill(obj, size, min(edge, old))
        left = {Truncate.ZEROED_APART: edge - size, Truncate.FREED_APART: NEVER - size}.get(steps, 0)
        cut = self._add_metadata(UpdateKind.CUT, obj, self._last_cut, obj, start=size, length=left)
        self._last_truncate[obj] = cut
        if edge < old:
            if steps is Truncate.FREED_APART:
                cut = self._add_metadata(UpdateKind.ZERO, obj, self._last_cut, obj, start=edge, length=old - edge)
            self._free(obj, cut, edge, NEVER)
        self._last_size.pop(obj, None)
        self._holes.pop(obj, None)
        self.tree.size[obj] = size

    def _fallocate(self, event: Record) -> None:
        obj = self.tree.object_of(event[INODE])
        start, length, mode = (event[key] for key in (OFFSET, LENGTH, EXTRA))
        if mode & (FALLOC_COLLAPSE | FALLOC_INSERT):
            self.notes.append(f"event {self._event}: fallocate that moves data is not modelled; its effect is left out")
            return
        size, end = self.tree.size.get(obj, 0), start + length
        if not mode & FALLOC_KEEP_SIZE and end > size:
            # Zeroing is a step of its own: neither it nor what comes later waits for the size.
            self._grow(obj, end, [], self.row.allocation_in_journal and not mode & FALLOC_ZERO_RANGE)
            self._waiting.at_once.add(self._last_size[obj])
        elif obj in self._last_size and end < size and mode != FALLOC_KEEP_SIZE and not self.row.size_in_journal:
            # A size that waits may persist as the end of the range (R12).
            self._waiting.on_the_way.add(self._add_size(obj, end, [], False))
        if mode & (FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE):
            self._make_hole(obj, start, end, frees=bool(mode & FALLOC_PUNCH_HOLE))
        if not mode & FALLOC_PUNCH_HOLE:
            self._place_blocks(obj, start, end)

    def _make_hole(self, obj: int, start: int, end: int, *, frees: bool) -> None:
        """R11: parts of blocks become zeros, whole blocks are freed."""
        low, high = -(-start // BLOCK) * BLOCK, end // BLOCK * BLOCK
        self._add_fill(obj, start, min(low, end))
        self._add_fill(obj, max(high, low), end)
        if not frees and high - low <= _MOST_ZEROED:
            self._add_fill(obj, low, high, early=True)
        if low < high:
            hole = self._add_metadata(UpdateKind.ZERO, obj, self._last_cut, obj, start=low, length=high - low)
            if frees:  # blocks of zeroed ranges stay where they are on the disk
                self._free(obj, hole, low, high)

    def _free(self, obj: int, cut: int, low: int, high: int) -> None:
        """Blocks that a truncate or a hole gives back."""
        if self.row.freed_before_data:
            self._freed[obj] = (cut, low, high)
        if obj in self._placed:
            self._placed[obj] = {block for block in self._placed[obj] if not low <= block * BLOCK < high}

    def _place_blocks(self, obj: int, start: int, end: int) -> None:
        """Blocks that are given their place on the disk before anything is written to them."""
        if obj in self._placed:
            self._placed[obj].update(range(start // BLOCK, -(-end // BLOCK)))

    def _set_mode(self, event: Record) -> None:
        obj, mode = self.tree.object_of(event[INODE]), event[EXTRA] & 0o7777
        self._add_metadata(UpdateKind.MODE, obj, self._last_attribute, (obj, -1), start=mode)

    def _set_attribute(self, event: Record) -> None:
        obj = self.tree.object_of(event[INODE])
        name = self.updates.name_number(self.trace.string(event[PATH]))
        gone = event[KIND] == Kind.DELXATTR
        data, length = (-1, 0) if gone else (event[DATA], event[LENGTH])
        self._add_metadata(
            UpdateKind.XATTR, obj, self._last_attribute, (obj, name), start=name, data=data, length=length
        )

    def _fsync(self, event: Record) -> None:
        obj = self.subjects[self._event] = self.tree.object_of(event[INODE])
        self._waiting.sync(obj, data_only=event[KIND] == Kind.FDATASYNC)

    def _close(self, event: Record) -> None:
        self.subjects[self._event] = self.tree.object_of(event[INODE])

    def _msync(self, event: Record) -> None:
        if event[EXTRA] & MS_SYNC:
            pages = _pages(event[OFFSET], event[LENGTH])
            self._waiting.sync(self.tree.object_of(event[INODE]), data_only=True, within=pages)

    def _mmap(self, event: Record) -> None:
        self._unwritten.hold_all(self.tree.object_of(event[INODE]))
        if not self.trace.sees_memory:
            self.tree.things[self.tree.object_of(event[INODE])].mapped = True

    def _file(self, inode: int) -> int:
        """The file of an inode, known to persist by cache lines if it is persistent memory."""
        obj = self.tree.object_of(inode)
        medium = self._media.get(inode)
        if medium is not None and medium.persistent and obj not in self._waiting.in_lines:
            self._waiting.in_lines.add(obj)
            self._chains.manage(obj)
        return obj

    def _memory(self, index: int, event: Record) -> None:
        """A run of memory records (M1 to M5), with the syncs that are tried or left out inside it."""
        count = event[LENGTH] // MEMORY.itemsize
        files: list[MappedFile] = []
        for number, inode in self._mapped.in_run(event).items():
            obj, medium = self._file(inode), self._media.get(inode, PAGE_CACHE)
            size = self.tree.size.get(obj, 0)
            if medium.persistent and (obj in self._waiting.of_object or obj in self._waiting.naming):
                first = self._mapped.first_store(event, number, size)
                if first is not None:
                    self._waiting.settle(obj, index + first)
            self._unwritten.hold_all(obj)
            self._placed.pop(obj, None)  # a page fault, too, gives blocks their place
            files.append((number, obj, size, flags_of(medium), self._freed.get(obj, _NOTHING_FREED)))
        done = 0
        first, last = bisect_left(self._stops, index), bisect_left(self._stops, index + count)
        for stop in (i - index for i in self._stops[first:last]):
            self._run(index, event, done, stop, files)
            self._add_syncs(index + stop)
            done = stop + (index + stop in self._skip)
        self._run(index, event, done, count, files)

    def _run(self, index: int, event: Record, first: int, last: int, files: list[MappedFile]) -> None:
        """Apply some records of a run."""
        updates = self.updates
        columns = self._chains.run(
            self.trace.content,
            event[DATA] + first * MEMORY.itemsize,
            last - first,
            index + first,
            files,
            updates.guaranteed,
            updates.first_need,
            updates.needs,
        )
        new = updates.extend_data(columns)
        waiting = {obj for _, obj, _, _, _ in files} - self._waiting.in_lines
        for update in new if waiting else ():
            if updates.obj[update] in waiting:
                self._waiting.of_object[updates.obj[update]].append(update)

    def _place(self, event: Record, field: int) -> tuple[int, bytes]:
        return self.tree.place(self.trace.string(event[field]))


def _pages(start: int, length: int) -> tuple[int, int]:
    """The pages that a range of a file touches, as offsets, however large the numbers of a trace are."""
    return min(start // BLOCK * BLOCK, NEVER), min(-(-(start + length) // BLOCK) * BLOCK, NEVER)


def _by_event(extra: Iterable[ExtraSync]) -> Mapping[int, list[ExtraSync]]:
    result: dict[int, list[ExtraSync]] = defaultdict(list)
    for sync in extra:
        result[sync.before].append(sync)
    return result

"""The rules: how a file-system row turns the events of a trace into updates, order and guarantees.

Before: a trace and a `FileSystem` row. After: `Updates` in which

  R1  updates of one piece of data, one name, one mode or attribute need their predecessor; growing sizes, too,
      between two truncates;
  R2  with a journal, metadata updates need the metadata update before them (with data in the journal: all do);
  R3  with a journal, a grown size needs the last metadata update before it;
  R4  where a size never outruns its data, a grown size needs the data it covers;
  R5  where truncates come before data, data and sizes need the last truncate (or punched hole) of their file;
  R6  where a replace flushes, a rename over an existing name needs all data and sizes of the file it moves;
  R7  fsync guarantees the file's updates, a folder's names; with a committing journal all metadata issued so far;
      where syncs persist names, also the names of the file or folder and of the folders above it;
  R8  fdatasync guarantees data, sizes and truncates of the file (and what they need); of a folder it is fsync;
  R9  an O_SYNC or O_DSYNC write ends with its own fsync or fdatasync; sync and syncfs guarantee all; msync is an
      fdatasync that leaves out data outside its pages; sync_file_range guarantees nothing;
  R10 a guarantee of an update is a guarantee of all it needs.

What the program stores through mappings follows `memory_rules.py`, in the same order of events.

`tests/models/brute_force.py` states the same rules a second time, independently.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from powercut import _engine
from powercut.image.image import ObjectKind
from powercut.model.filesystem import BLOCK, Exposed, FileSystem
from powercut.model.memory import PAGE_CACHE
from powercut.states.memory_rules import MappedFiles, flags_of, media
from powercut.states.state import NEVER
from powercut.states.tree import ROOT, Thing, Tree
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
MappedFile = tuple[int, int, int, int, int]  # see _engine.Chains.run
_CREATES: dict[int, ObjectKind] = {
    Kind.MKDIR: ObjectKind.FOLDER,
    Kind.SYMLINK: ObjectKind.SYMLINK,
    Kind.MKNOD: ObjectKind.OTHER,
}
_SYNC, _DSYNC, _IMPORT = int(Flag.SYNC), int(Flag.DSYNC), int(Flag.IMPORT)  # plain numbers: this loop is hot
_NOT_SETTLED = (UpdateKind.DATA, UpdateKind.MODE, UpdateKind.XATTR)


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
        self._now = 0  # the time at which a sync of this moment guarantees
        self._unit = min(row.piece, BLOCK)
        self._last_size: dict[int, int] = {}
        self._last_cut: dict[int, int] = {}
        self._last_name: dict[tuple[int, bytes], int] = {}
        self._last_attribute: dict[tuple[int, int], int] = {}
        self._last_journal = -1
        self._all_synced = 0
        self._media = media(trace, row.memory)
        self._mapped = MappedFiles(trace)
        self._in_lines: set[int] = set()
        self._chains = _engine.Chains(self._unit)
        self._of_object: dict[int, list[int]] = defaultdict(list)  # not yet guaranteed: content and attributes
        self._naming: dict[int, list[int]] = defaultdict(list)  # not yet guaranteed: names that stand for the object
        self._inside: dict[int, list[int]] = defaultdict(list)  # not yet guaranteed: names in the folder
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
            Kind.SYNC: lambda event: self.sync_all(),
            Kind.SYNCFS: lambda event: self.sync_all(),
            Kind.MMAP: self._mmap,
        }

    @property
    def in_lines(self) -> Set[int]:
        """Files whose data persist by cache lines: persistent memory."""
        return self._in_lines

    def apply(self) -> Updates:
        """Run over the whole trace."""
        first = self.tree.load_snapshot(self.trace)
        for index, record in self.trace.calls(first):
            if record[KIND] == Kind.MEMORY:
                self._memory(index, record)
            else:
                self._call(index, record)
        return self.updates

    def _call(self, index: int, record: Record) -> None:
        self._add_syncs(index)
        handler = self._handlers.get(record[KIND])
        if handler is not None and (index not in self._skip or record[KIND] == Kind.WRITE):
            self._event, self._now = index, 2 * index + 1
            try:
                handler(record)
            except KeyError:
                name = Kind(record[KIND]).name.lower()
                self.notes.append(f"event {index} ({name}) names a path that the trace does not know; left out")

    def _add_syncs(self, index: int) -> None:
        """Make the syncs that are to return before an event."""
        for sync in self._extra.get(index, ()):
            self._now = 2 * index - 1
            self._add_sync(sync)

    def _add_sync(self, sync: ExtraSync) -> None:
        if sync.update < 0:
            self.sync(sync.obj, data_only=sync.data_only)
        elif sync.update < len(self.updates):
            self._guarantee((sync.update,))

    # Updates and their needs

    def _add(self, kind: UpdateKind, obj: int, needs: list[int], journalled: bool, **columns: int) -> int:
        """Append an update; R2 where it goes through the journal."""
        if self.row.journal and journalled and self._last_journal >= 0:
            needs.append(self._last_journal)
        number = self.updates.add(kind, obj, self._event, needs, **columns)
        if self.row.journal and journalled:
            self._last_journal = number
        return number

    def _add_entry(self, obj: int, effects: list[tuple[int, bytes, int]], needs: list[int] | None = None) -> int:
        """Append a change of names: R1 per name, R2."""
        needs = needs or []
        for folder, name, _ in effects:
            last = self._last_name.get((folder, name))
            if last is not None:
                needs.append(last)
        first = len(self.updates.effect_update)
        number = self._add(UpdateKind.ENTRY, obj, needs, True, start=first, length=len(effects))
        for folder, name, value in effects:
            self.updates.add_effect(number, folder, name, value)
            self._last_name[folder, name] = number
            self._inside[folder].append(number)
            if value >= 0:
                self._naming[value].append(number)
        return number

    def _add_metadata(self, kind: UpdateKind, obj: int, chain: dict[Any, int], key: Any, **columns: int) -> int:
        """Append a metadata update of an object that follows its predecessor of the same key (R1, R2)."""
        needs = [chain[key]] if key in chain else []
        number = self._add(kind, obj, needs, True, **columns)
        chain[key] = number
        self._of_object[obj].append(number)
        return number

    def _add_data(self, obj: int, start: int, length: int, blob: int, old_size: int) -> None:
        """Append one piece of data, and the size it grows the file to (R1, R3, R4, R5)."""
        needs = self._data_needs(obj, start, length)
        end = start + length
        fresh = max(start, old_size) if end > old_size else NEVER
        in_journal = self.row.data_in_journal
        data = self._add(UpdateKind.DATA, obj, needs, in_journal, start=start, length=length, data=blob, fresh=fresh)
        self._of_object[obj].append(data)
        if end > old_size:
            self._grow(obj, end, [data] if self.row.exposed is Exposed.NOTHING else [], in_journal)

    def _data_needs(self, obj: int, start: int, length: int) -> list[int]:
        """What the next update, of this piece of data, needs (R1, R5, M1)."""
        needs = self._chains.follow(obj, start, length, len(self.updates))
        cut = self._last_cut.get(obj) if self.row.truncate_before_data else None
        if cut is not None:
            needs.append(cut)
        return needs

    def _grow(self, obj: int, size: int, needs: list[int], journalled: bool) -> None:
        """Append a grown size (R1, R3, R5)."""
        if obj in self._last_size:
            needs.append(self._last_size[obj])
        if self.row.truncate_before_data and obj in self._last_cut:
            needs.append(self._last_cut[obj])
        if self.row.journal and not journalled and self._last_journal >= 0:
            needs.append(self._last_journal)
        number = self._add(UpdateKind.SIZE, obj, needs, journalled, start=size)
        self._last_size[obj] = number
        self._of_object[obj].append(number)
        self.tree.size[obj] = size

    # Guarantees

    def sync(self, obj: int, *, data_only: bool = False, within: tuple[int, int] | None = None) -> None:
        """R7 and R8; R9 and M6 where only the data `within` a range counts."""
        data_only = data_only and obj not in self.tree.live  # the data of a folder are its names
        waiting = self._of_object.pop(obj, [])
        left = [u for u in waiting if self._is_kept_back(u, data_only, within)]
        self._guarantee(set(waiting).difference(left) if left else waiting)
        if left:
            self._of_object[obj] = left
        if obj in self._in_lines:
            self._guarantee(self._chains.last_updates(obj, *(within or (0, NEVER))))
        if not data_only:
            self._guarantee(self._inside.pop(obj, ()))
            if self.row.sync_commits_journal and self._last_journal >= 0:
                self._guarantee((self._last_journal,))
        if self.row.datasync_persists_names if data_only else self.row.sync_persists_names:
            self._guarantee_names(obj)

    def _is_kept_back(self, update: int, data_only: bool, within: tuple[int, int] | None) -> bool:
        """Whether a sync of its file passes an update over."""
        kind = self.updates.kind[update]
        if data_only and kind in (UpdateKind.MODE, UpdateKind.XATTR):
            return True
        if within is None or kind != UpdateKind.DATA:
            return False
        start = self.updates.start[update]
        return start >= within[1] or start + self.updates.length[update] <= within[0]

    def sync_all(self) -> None:
        """R9: sync and syncfs."""
        self._guarantee(range(self._all_synced, len(self.updates)))
        self._all_synced = len(self.updates)
        for waiting in (self._of_object, self._naming, self._inside):
            waiting.clear()

    def _guarantee_names(self, obj: int) -> None:
        """The names of an object and of every folder on the way to it."""
        folders: set[int] = set()
        for update in self._naming.get(obj, ()):
            first = self.updates.start[update]
            for effect in range(first, first + self.updates.length[update]):
                if self.updates.effect_value[effect] == obj:
                    folders.add(self.updates.effect_folder[effect])
        self._guarantee(self._naming.pop(obj, ()))
        for folder in folders | ({obj} if obj in self.tree.live else set()):
            for above in [folder, *self.tree.ancestors(folder)]:
                if above != ROOT:
                    self._guarantee(self._naming.pop(above, ()))

    def _guarantee(self, updates: Iterable[int]) -> None:
        """R10."""
        guaranteed = self.updates.guaranteed
        waiting = list(updates)
        while waiting:
            update = waiting.pop()
            if guaranteed[update] == NEVER:
                guaranteed[update] = self._now
                waiting.extend(self.updates.needs_of(update))

    # Events

    def _create(self, event: Record) -> None:
        kind = _CREATES.get(event[KIND], ObjectKind.FILE)
        thing = Thing(kind, event[EXTRA] & 0o7777)
        if kind is ObjectKind.SYMLINK:
            thing.target = self.trace.blob(event[DATA], event[LENGTH])
        place = None if event[FLAGS] & Flag.TMPFILE else self._place(event, PATH)
        obj = self.tree.add(event[INODE], thing)
        if place is not None:
            self._add_entry(obj, [(*place, obj)])
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
            self._add_entry(obj, [(*old, replaced), (*new, obj)])
            self.tree.put(*old, replaced)
            self.tree.put(*new, obj)
            return
        needs: list[int] = []
        if replaced is not None and self.row.replace_flushes_data:
            attributes = (UpdateKind.MODE, UpdateKind.XATTR)
            needs = [u for u in self._of_object[obj] if self.updates.kind[u] not in attributes]
        if self.row.rename_is_atomic or obj in self.tree.live:
            self._add_entry(obj, [(*old, -1), (*new, obj)], needs)
        else:
            self._add_entry(obj, [(*new, obj)], needs)
            self._add_entry(obj, [(*old, -1)])
        self.tree.live[old[0]].pop(old[1], None)
        self.tree.put(*new, obj)

    def _write(self, event: Record) -> None:
        obj = self._file(event[INODE])
        start, length, blob, flags = (event[key] for key in (OFFSET, LENGTH, DATA, FLAGS))
        if flags & _IMPORT:  # what came from outside is taken as durable
            self.tree.things[obj].base_data.append((start, length, blob))
            self.tree.things[obj].base_size = self.tree.size[obj] = max(self.tree.size.get(obj, 0), start + length)
            return
        piece, end, position = self.row.piece, start + length, start
        while position < end:
            # Copy-on-write pieces start with the write; blocks and sectors lie where the disk has them.
            edge = position + piece if piece > BLOCK else (position // piece + 1) * piece
            size = min(edge, end) - position
            self._add_data(obj, position, size, blob + position - start, self.tree.size.get(obj, 0))
            position += size
        if flags & (_SYNC | _DSYNC) and self._event not in self._skip:
            self.sync(obj, data_only=not flags & _SYNC)

    def _truncate(self, event: Record) -> None:
        obj, size = self.tree.object_of(event[INODE]), event[LENGTH]
        if size != self.tree.size.get(obj, 0):
            self._add_metadata(UpdateKind.CUT, obj, self._last_cut, obj, start=size)
            self._last_size.pop(obj, None)
            self.tree.size[obj] = size

    def _fallocate(self, event: Record) -> None:
        obj = self.tree.object_of(event[INODE])
        start, length, mode = (event[key] for key in (OFFSET, LENGTH, EXTRA))
        if mode & (FALLOC_COLLAPSE | FALLOC_INSERT):
            self.notes.append(f"event {self._event}: fallocate that moves data is not modelled; its effect is left out")
            return
        size = self.tree.size.get(obj, 0)
        if mode & (FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE):
            self._add_metadata(UpdateKind.ZERO, obj, self._last_cut, obj, start=start, length=length)
        if not mode & FALLOC_KEEP_SIZE and start + length > size:
            self._grow(obj, start + length, [], self.row.allocation_in_journal)

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
        self.sync(obj, data_only=event[KIND] == Kind.FDATASYNC)

    def _close(self, event: Record) -> None:
        self.subjects[self._event] = self.tree.object_of(event[INODE])

    def _msync(self, event: Record) -> None:
        if event[EXTRA] & MS_SYNC:
            low, high = event[OFFSET] // BLOCK, -(-(event[OFFSET] + event[LENGTH]) // BLOCK)
            self.sync(self.tree.object_of(event[INODE]), data_only=True, within=(low * BLOCK, high * BLOCK))

    def _mmap(self, event: Record) -> None:
        if not self.trace.sees_memory:
            self.tree.things[self.tree.object_of(event[INODE])].mapped = True

    def _file(self, inode: int) -> int:
        """The file of an inode, known to persist by cache lines if it is persistent memory."""
        obj = self.tree.object_of(inode)
        medium = self._media.get(inode)
        if medium is not None and medium.persistent and obj not in self._in_lines:
            self._in_lines.add(obj)
            self._chains.manage(obj)
        return obj

    def _memory(self, index: int, event: Record) -> None:
        """A run of memory records (M1 to M5), with the syncs that are tried or left out inside it."""
        count = event[LENGTH] // MEMORY.itemsize
        files: list[MappedFile] = []
        for number, inode in self._mapped.in_run(event).items():
            obj, medium = self._file(inode), self._media.get(inode, PAGE_CACHE)
            size = self.tree.size.get(obj, 0)
            if medium.persistent and (obj in self._of_object or obj in self._naming):
                first = self._mapped.first_store(event, number, size)
                if first is not None:
                    self._settle(obj, index + first)
            cut = self._last_cut.get(obj, -1) if self.row.truncate_before_data else -1
            files.append((number, obj, size, cut, flags_of(medium)))
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
        waiting = {obj for _, obj, _, _, _ in files} - self._in_lines
        for update in new if waiting else ():
            if updates.obj[update] in waiting:
                self._of_object[updates.obj[update]].append(update)

    def _settle(self, obj: int, event: int) -> None:
        """M7: what the page fault in front of a store makes durable."""
        self._now = 2 * event - 1
        waiting = self._of_object.pop(obj, [])
        content = [u for u in waiting if self.updates.kind[u] in _NOT_SETTLED]
        if content:
            self._of_object[obj] = content
        self._guarantee(set(waiting).difference(content))
        self._guarantee_names(obj)

    def _place(self, event: Record, field: int) -> tuple[int, bytes]:
        return self.tree.place(self.trace.string(event[field]))


def _by_event(extra: Iterable[ExtraSync]) -> Mapping[int, list[ExtraSync]]:
    result: dict[int, list[ExtraSync]] = defaultdict(list)
    for sync in extra:
        result[sync.before].append(sync)
    return result

"""The pass over file calls: redundant and missing syncs.

Before: the calls of a trace, and which syncs made a store into a mapping persistent. After: sightings of the patterns
of files. The rules are those of POSIX, the weakest there are: fsync of a file persists its content, fsync of a folder
the names in it (docs/lint.md gives each condition). What the folder held at the start is taken as durable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Set

from powercut.lint import patterns
from powercut.lint.memory_pass import MemoryPass
from powercut.lint.sightings import Sightings
from powercut.lint.unsynced import NEVER, IdleSync, NewName, Unsynced
from powercut.states.objects import ObjectKind
from powercut.states.rules import MS_SYNC
from powercut.states.tree import Thing, Tree
from powercut.trace.layout import (
    EXTRA,
    FLAGS,
    INODE,
    KIND,
    LENGTH,
    OFFSET,
    PATH,
    PATH2,
    PID,
    STACK,
    Channel,
    Flag,
    Kind,
    Record,
)
from powercut.trace.reader import Trace

_MAKES: dict[int, ObjectKind] = {
    Kind.CREATE: ObjectKind.FILE,
    Kind.MKDIR: ObjectKind.FOLDER,
    Kind.SYMLINK: ObjectKind.SYMLINK,
}
_NAMING = frozenset(
    {
        *(Kind.SNAP_DIR, Kind.SNAP_FILE, Kind.SNAP_SYMLINK, Kind.SNAP_OTHER),
        *(Kind.CREATE, Kind.MKDIR, Kind.SYMLINK, Kind.MKNOD, Kind.LINK, Kind.RENAME),
    }
)


class FilePass:
    """Walks the calls of one trace."""

    def __init__(
        self, trace: Trace, memory: MemoryPass, persistent: Set[int], internal: bytes, into: Sightings
    ) -> None:
        """Prepare; `persistent` are inodes of persistent memory, `internal` says which stacks to leave out."""
        self.paths: dict[int, bytes] = {}  # inode -> its last name
        self.changing: set[int] = set()  # stacks that changed anything
        self._trace = trace
        self._memory = memory
        self._persistent = persistent
        self._internal = internal
        self._into = into
        self._tree = Tree()
        self._files: defaultdict[int, Unsynced] = defaultdict(Unsynced)
        self._unclean: set[int] = set()  # files and folders that may have something to sync
        self._unsaid: set[int] = set()  # files written since the last output
        self._entries: defaultdict[int, dict[bytes, NewName]] = defaultdict(dict)  # folder -> its names
        self._wrote: defaultdict[int, dict[int, None]] = defaultdict(dict)  # process -> files, since its last sync
        self._idle: list[IdleSync] = []
        self._executed: defaultdict[int, int] = defaultdict(int)  # stack -> syncs
        self._first_change: tuple[int, bytes] | None = None
        self._changes = self._syncs = 0
        self._all_synced = NEVER
        self._position = 0
        self._handlers: dict[int, Callable[[Record], None]] = {
            **dict.fromkeys((Kind.CREATE, Kind.MKDIR, Kind.SYMLINK, Kind.MKNOD), self._create),
            Kind.LINK: self._link,
            **dict.fromkeys((Kind.UNLINK, Kind.RMDIR), self._unlink),
            Kind.RENAME: self._rename,
            Kind.WRITE: self._write,
            Kind.TRUNCATE: self._truncate,
            Kind.FALLOCATE: self._allocate,
            **dict.fromkeys((Kind.SETATTR, Kind.SETXATTR, Kind.DELXATTR), self._set_attribute),
            **dict.fromkeys((Kind.FSYNC, Kind.FDATASYNC), self._sync),
            Kind.MSYNC: self._msync,
            **dict.fromkeys((Kind.SYNC, Kind.SYNCFS), self._sync_all),
            Kind.MMAP: self._map,
            Kind.OUTPUT: self._output,
        }

    def walk(self) -> None:
        """Look at every call, then at what is left."""
        self._tree.load_snapshot(self._trace)
        for position, (_, record) in enumerate(self._trace.calls()):
            if record[KIND] in _NAMING:
                self.paths[record[INODE]] = self._trace.string(record[PATH2] or record[PATH])
            handler = self._handlers.get(record[KIND])
            if handler is not None:
                self._position = position
                try:
                    handler(record)
                except KeyError:
                    continue  # a path that the trace does not know; the model says so
        self._end()

    # Names

    def _create(self, event: Record) -> None:
        unnamed = event[FLAGS] & Flag.TMPFILE
        place = None if unnamed else self._tree.place(self._trace.string(event[PATH]))
        obj = self._tree.add(event[INODE], Thing(_MAKES.get(event[KIND], ObjectKind.OTHER), 0))
        if place is not None:
            self._name(obj, place, event, PATH)

    def _link(self, event: Record) -> None:
        obj = self._tree.object_of(event[INODE])
        self._name(obj, self._tree.place(self._trace.string(event[PATH2])), event, PATH2)

    def _name(self, obj: int, place: tuple[int, bytes], event: Record, field: int) -> None:
        path = self._trace.string(event[field])
        self._tree.put(*place, obj)
        self._entries[place[0]][place[1]] = NewName(event[STACK], obj, path, self._position)
        self._change(obj, event, path).named = True
        self._change(place[0], event).entries = True

    def _unlink(self, event: Record) -> None:
        folder, name = self._tree.place(self._trace.string(event[PATH]))
        obj = self._tree.object_of(event[INODE])
        self._tree.live[folder].pop(name, None)
        self._entries[folder].pop(name, None)
        self._change(folder, event).entries = True
        if event[KIND] == Kind.RMDIR or event[EXTRA] == 0 or event[FLAGS] & Flag.EXPORT:
            self._forget(obj)

    def _rename(self, event: Record) -> None:
        obj = self._tree.object_of(event[INODE])
        old, new = (self._tree.place(self._trace.string(event[name])) for name in (PATH, PATH2))
        self._tree.require_room(new[0], obj)
        replaced = self._tree.live[new[0]].get(new[1])
        written = self._files[obj].written
        if replaced == obj:
            return  # two names of one file: nothing happens
        if written is not None:
            self._see(patterns.RENAME_UNSYNCED, event[STACK], written, self._trace.string(event[PATH]))
        self._tree.live[old[0]].pop(old[1], None)
        self._entries[old[0]].pop(old[1], None)
        self._change(old[0], event).entries = True
        if event[FLAGS] & Flag.EXCHANGE and replaced is not None:
            self._name(replaced, old, event, PATH)
        elif replaced is not None:
            self._forget(replaced)
        self._name(obj, new, event, PATH2)

    def _forget(self, obj: int) -> None:
        """Nobody can see it any more: nothing of it need be synced."""
        self._files[obj] = Unsynced(gone=True)
        self._unclean.discard(obj)
        self._unsaid.discard(obj)

    # Content

    def _write(self, event: Record) -> None:
        if event[FLAGS] & Flag.IMPORT:  # what came from outside is taken as durable
            return
        obj = self._dirty(event, event[OFFSET], event[OFFSET] + event[LENGTH])
        self._files[obj].data = True
        if event[FLAGS] & (Flag.SYNC | Flag.DSYNC):
            self._count_sync(event)
            self._clean(obj, data_only=not event[FLAGS] & Flag.SYNC)

    def _truncate(self, event: Record) -> None:
        if event[LENGTH] != event[EXTRA]:
            self._dirty(event, event[LENGTH], event[LENGTH] + 1)

    def _allocate(self, event: Record) -> None:
        self._dirty(event, event[OFFSET], event[OFFSET] + event[LENGTH])

    def _dirty(self, event: Record, start: int, end: int) -> int:
        obj = self._tree.object_of(event[INODE])
        file = self._change(obj, event, self.paths.get(event[INODE], b""))
        if not file.gone:
            low, high = file.span if file.written is not None else (start, end)
            file.written, file.span = event[STACK], (min(low, start), max(high, end))
            self._unsaid.add(obj)
            self._wrote[event[PID]].pop(obj, None)
            self._wrote[event[PID]][obj] = None  # the last one
        return obj

    def _set_attribute(self, event: Record) -> None:
        self._change(self._tree.object_of(event[INODE]), event).attributes = True

    def _map(self, event: Record) -> None:
        obj = self._tree.object_of(event[INODE])
        if not self._trace.sees_memory:
            self._files[obj].mapped = True
        elif event[INODE] in self._persistent:
            self._settle(obj)

    def _settle(self, obj: int) -> None:
        """M7: persistent memory is mapped so that its size and its names are durable before anything is stored."""
        file = self._files[obj]
        file.named = False
        if not file.data:
            file.written = None
            self._unsaid.discard(obj)
        for folder, names in self._entries.items():
            for name in [name for name, entry in names.items() if entry.obj == obj]:
                del names[name]
                for above in self._tree.ancestors(folder):
                    self._settle(above)

    def _change(self, obj: int, event: Record, path: bytes = b"") -> Unsynced:
        file = self._files[obj]
        file.path = path or file.path
        self._unclean.add(obj)
        self.changing.add(event[STACK])
        self._changes += 1
        if self._first_change is None:
            self._first_change = (event[STACK], path)
        return file

    # Syncs

    def _sync(self, event: Record) -> None:
        obj = self._tree.object_of(event[INODE])
        file = self._files[obj]
        data_only = event[KIND] == Kind.FDATASYNC and obj not in self._tree.live
        changed = file.written is not None or file.entries or file.named or (file.attributes and not data_only)
        if not (changed or file.mapped or file.gone or self._position in self._memory.useful):
            self._see_idle(event, obj)
        self._count_sync(event)
        self._clean(obj, data_only=data_only)
        self._entries.pop(obj, None)
        self._wrote.pop(event[PID], None)

    def _msync(self, event: Record) -> None:
        if not event[EXTRA] & MS_SYNC:
            return
        obj = self._tree.object_of(event[INODE])
        file = self._files[obj]
        idle = self._trace.sees_memory and self._position not in self._memory.useful
        if idle and file.written is None and not file.gone:
            self._see_idle(event, obj)
        self._count_sync(event)
        file.synced = self._position
        if not file.data or (event[OFFSET] <= file.span[0] and file.span[1] <= event[OFFSET] + event[LENGTH]):
            self._clean(obj, data_only=True)  # sizes in any case, content in its pages

    def _sync_all(self, event: Record) -> None:
        self._count_sync(event)
        self._all_synced = self._position
        for obj in list(self._unclean):
            self._clean(obj, data_only=False)
        self._entries.clear()
        self._wrote.clear()

    def _clean(self, obj: int, *, data_only: bool) -> None:
        file = self._files[obj]
        for (write, output), count in file.said.items():
            self._see(patterns.ACKNOWLEDGED_EARLY, write, output, file.path, count)
        file.said.clear()
        file.written, file.synced = None, self._position
        file.data = file.named = file.entries = False
        self._unsaid.discard(obj)
        if not data_only:
            file.attributes = False
            self._unclean.discard(obj)

    def _count_sync(self, event: Record) -> None:
        self._syncs += 1
        self._executed[event[STACK]] += 1

    def _see_idle(self, event: Record, obj: int) -> None:
        """A sync with nothing to sync: which pattern it is, is known at the end."""
        wrote = reversed(self._wrote.get(event[PID], {}))
        twin = next((other for other in wrote if other != obj and self._files[other].written is not None), None)
        stack = self._files[twin].written if twin is not None else None
        path = self._files[obj].path or self.paths.get(event[INODE], b"")
        self._idle.append(IdleSync(event[STACK], path, self._position, twin, stack or 0))

    # Outputs

    def _output(self, event: Record) -> None:
        if event[EXTRA] == Channel.STDERR:
            return
        for obj in sorted(self._unsaid):
            said, written = self._files[obj].said, self._files[obj].written
            if written is not None:
                said[written, event[STACK]] = said.get((written, event[STACK]), 0) + 1
        self._unsaid.clear()

    # The end

    def _end(self) -> None:
        for idle in self._idle:
            if idle.twin is not None and self._is_left_alone(idle.twin, idle.position):
                self._see(patterns.WRONG_FILE, idle.stack, idle.twin_stack, idle.path)
            else:
                self._see(patterns.REDUNDANT_SYNC, idle.stack, 0, idle.path)
        for file in self._files.values():
            never = max(file.synced, self._all_synced) == NEVER
            pattern = patterns.ACKNOWLEDGED_NEVER if never else patterns.ACKNOWLEDGED
            for (write, output), count in file.said.items():
                self._see(pattern, write, output, file.path, count)
        for entry in (entry for names in self._entries.values() for entry in names.values()):
            by_file = self._files[entry.obj].synced > entry.position
            pattern = patterns.ENTRY_BY_FILE if by_file else patterns.UNSYNCED_ENTRY
            self._see(pattern, entry.stack, 0, entry.path)
        self._see_nothing_persisted()

    def _is_left_alone(self, obj: int, since: int) -> bool:
        file = self._files[obj]
        return not file.gone and file.synced < since and file.written is not None

    def _see_nothing_persisted(self) -> None:
        memory = self._memory
        if self._syncs or memory.flushes or memory.fences or not (self._changes or memory.stores):
            return
        stack, path = self._first_change or (0, b"")
        found = self._into.add(patterns.NOTHING_PERSISTED, stack, file=path, count=self._changes + memory.stores)
        found.files.update(self.paths.get(file.inode, b"") for file in memory.files if file.stores)
        found.files.discard(b"")

    def _see(self, pattern: patterns.Pattern, stack: int, other: int, path: bytes, count: int = 1) -> None:
        if self._internal[stack]:
            return
        found = self._into.add(pattern, stack, other, file=path, count=count)
        if pattern in (patterns.REDUNDANT_SYNC, patterns.WRONG_FILE):
            found.executed = self._executed[stack]

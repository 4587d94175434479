"""The data folder as the program saw it: which name stood for which object, event by event.

Inode numbers are reused by file systems, so objects get numbers of their own: whatever event creates an inode binds it
to a new object. Object 0 is the data folder. The tree of the snapshot is kept beside the live one, because every crash
state is built on it.

Before an event is applied the tree is that of the moment before the call; after it, that of the moment after.
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise

from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.trace.layout import DATA, EXTRA, INODE, KIND, LENGTH, OFFSET, PATH, Kind, Record
from powercut.trace.reader import Trace

ROOT = 0


@dataclass(slots=True)
class Thing:
    """A file, folder or link: what it is, and what it was before the program started."""

    kind: ObjectKind
    mode: int
    base_size: int = 0
    base_data: list[tuple[int, int, int]] = field(default_factory=list)  # offset in file, length, blob offset
    target: bytes = b""
    mapped: bool = False  # had a writable shared mapping: its stores are not in this trace
    owner: tuple[int, int] = (0, 0)  # user and group: the last ones, as no crash state is made of them
    is_open: bool = False  # a folder that holds more than the trace has, which nothing touched


def owner_in(offset: int) -> tuple[int, int]:
    """The user and the group that events give as one number."""
    return offset & 0xFFFFFFFF, offset >> 32


class Tree:
    """Names and objects, live and as they were at the start."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self.base: dict[int, dict[bytes, int]] = {}
        self.live: dict[int, dict[bytes, int]] = {}
        self.home: dict[int, int] = {}  # folder -> its parent folder, live
        self.size: dict[int, int] = {}  # file -> its size, live
        self._by_inode: dict[int, int] = {}
        self.unknown: set[int] = set()  # inodes that appeared from nowhere

    def add(self, inode: int, thing: Thing) -> int:
        """Bind an inode to a new object."""
        number = len(self.things)
        self.things.append(thing)
        self._by_inode[inode] = number
        if thing.kind == ObjectKind.FOLDER:
            self.live[number] = {}
        elif thing.kind == ObjectKind.FILE:
            self.size[number] = thing.base_size
        return number

    def object_of(self, inode: int) -> int:
        """The object that an inode stands for now."""
        number = self._by_inode.get(inode)
        if number is None:
            self.unknown.add(inode)
            number = self.add(inode, Thing(ObjectKind.FILE, 0o644))
        return number

    def known(self, inode: int) -> int | None:
        """The same, if there is one."""
        return self._by_inode.get(inode)

    def place(self, path: bytes) -> tuple[int, bytes]:
        """The folder and the last name of a path."""
        folder = ROOT
        *parents, name = path.split(b"/")
        for part in parents:
            folder = self.live[folder].get(part, -1)
            if folder not in self.live:
                raise KeyError(path)
        if name in (b"", b".", b"..") or b"\0" in name:  # no name that leads out of the folder
            raise KeyError(path)
        return folder, name

    def require_room(self, folder: int, number: int) -> None:
        """Folders have one name and never lie in themselves; a trace that says so is not believed."""
        if number in self.live and (folder == number or number in self.ancestors(folder)):
            raise KeyError(number)

    def put(self, folder: int, name: bytes, number: int) -> None:
        """Let a name stand for an object."""
        self.live[folder][name] = number
        if number in self.live:
            self.home[number] = folder

    def ancestors(self, number: int) -> list[int]:
        """The folders above a folder, without the data folder itself."""
        above = []
        while (number := self.home.get(number, ROOT)) != ROOT and number not in above:
            above.append(number)
        return above

    def load_snapshot(self, trace: Trace) -> int:
        """Build the tree of the moment before the program; the index of the first event after the snapshot."""
        index = 0
        try:
            for _, record in trace.calls():
                if record[KIND] > Kind.SNAP_OTHER:
                    break
                self._load(trace, record)
                index += 1
        except KeyError as error:
            raise trace.broken(f"event {index} of its snapshot has no folder to be in") from error
        if not self.things:
            self.add(0, Thing(ObjectKind.FOLDER, 0o755))
        if ROOT not in self.live:
            raise trace.broken("its snapshot does not start with the data folder")
        for thing in self.things:
            thing.base_data.sort()
            if any(a[0] + a[1] > b[0] for a, b in pairwise(thing.base_data)):
                raise trace.broken("its snapshot holds the same bytes twice")
        self.base = {folder: dict(names) for folder, names in self.live.items()}
        return index

    def _load(self, trace: Trace, record: Record) -> None:
        kind, inode, length, data = record[KIND], record[INODE], record[LENGTH], record[DATA]
        mode, owner = record[EXTRA] & 0o7777, owner_in(record[OFFSET])
        if kind == Kind.SNAP_DATA:
            self.things[self.object_of(inode)].base_data.append((record[OFFSET], length, data))
            return
        if inode in self._by_inode:  # a further hard link
            number = self._by_inode[inode]
            if number in self.live:
                raise KeyError(inode)
        elif kind == Kind.SNAP_DIR:
            number = self.add(inode, Thing(ObjectKind.FOLDER, mode, owner=owner, is_open=length == 1))
        elif kind == Kind.SNAP_FILE:
            number = self.add(inode, Thing(ObjectKind.FILE, mode, base_size=length, owner=owner))
        elif kind == Kind.SNAP_SYMLINK:
            number = self.add(inode, Thing(ObjectKind.SYMLINK, 0o777, target=trace.blob(data, length)))
        else:
            number = self.add(inode, Thing(ObjectKind.OTHER, mode))
        path = trace.string(record[PATH])
        if path:
            folder, name = self.place(path)
            self.require_room(folder, number)
            self.put(folder, name, number)

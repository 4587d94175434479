"""An index of where the objects of an image are on disk, and the moves that keep index and disk the same.

Objects with a name stand under the root folder. Objects that were built and have no name in the current image wait in
the store, as ``store/NUMBER``: placing a file or folder is a rename, a further name of a file is a hard link, taking
away the last name is a rename back. So link counts are right and no content is written for a rename.

Root and store must lie on one mount. Everything here raises OSError when the disk is not as the books say.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH102, PTH104, PTH108, PTH116, PTH211
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field

from powercut.image.inotify import Watch
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind

ROOT = 0
_TOLD_AT_ONCE = 1000  # names changed between two looks at the kernel's queue, which holds 16,384 events by default
Entry = tuple[int, bytes]


@dataclass(slots=True)
class Node:
    """One object that exists on disk, what is known to be in it, and what has to be done to it.

    A node without names waits in the store. ``size``, ``mode``, ``owner`` and ``xattrs`` are what the disk holds;
    ``xattrs`` None is unknown. ``blocks`` may differ from the image (None: all of them may), as may everything behind
    ``low``; with ``doubted``, a check may have changed anything. ``sums`` are check sums of pieces as they should be.
    What is ``adopted`` was there before the image, and holds more than the books say.
    """

    kind: ObjectKind
    ino: int
    mode: int
    owner: tuple[int, int]
    size: int = 0
    target: bytes = b""
    xattrs: dict[bytes, bytes] | None = field(default_factory=dict)
    names: list[Entry] = field(default_factory=list)
    children: dict[bytes, int] = field(default_factory=dict)
    blocks: set[int] | None = field(default_factory=set)
    low: int = 0
    doubted: bool = False
    sums: dict[int, int] = field(default_factory=dict)
    meta: bool = True
    adopted: bool = False


def _node(kind: ObjectKind, status: os.stat_result, target: bytes = b"") -> Node:
    return Node(kind, status.st_ino, status.st_mode & 0o7777, (status.st_uid, status.st_gid), target=target)


class DiskIndex:
    """The books of one image folder, of which there is only the empty root so far."""

    def __init__(self, root: bytes, store: bytes) -> None:
        self.root = root
        self.store = store
        self.watch: Watch | None = None
        status = os.stat(root, follow_symlinks=False)
        self.nodes = {ROOT: _node(ObjectKind.FOLDER, status)}
        self.nodes[ROOT].xattrs = None
        self.linked: set[int] = set()  # objects with more than one name
        self.hidden: set[int] = set()  # folders in the store
        self.touched: set[Entry] = set()  # names that we changed, for telling our events from others'
        self.touched_folders: set[int] = set()
        self._paths = {ROOT: root}
        self._untold = 0  # names that we changed since the kernel's queue was last emptied

    def watch_with(self, watch: Watch) -> None:
        """Watch all folders that there are, and later ones."""
        self.watch = watch
        for obj, node in self.nodes.items():
            if node.kind is ObjectKind.FOLDER:
                watch.add(obj, self.folder_path(obj))

    # Finding things

    def folder_path(self, folder: int) -> bytes:
        """Where a folder is."""
        path = self._paths.get(folder)
        if path is None:
            path = self._paths[folder] = self.path(folder)
        return path

    def path(self, obj: int) -> bytes:
        """Where an object is, by its first name."""
        if obj == ROOT:
            return self.root
        names = self.nodes[obj].names
        return self.entry_path(*names[0]) if names else self.stored_path(obj)

    def entry_path(self, folder: int, name: bytes) -> bytes:
        """The path of a name."""
        return self.folder_path(folder) + b"/" + name

    def stored_path(self, obj: int) -> bytes:
        """Where an object waits."""
        return b"%b/%d" % (self.store, obj)

    def visible(self, obj: int) -> bool:
        """Whether an object can be reached from the root."""
        while obj != ROOT:
            names = self.nodes[obj].names
            if not names:
                return False
            if len(names) > 1:
                return any(self.visible(folder) for folder, _ in names)
            obj = names[0][0]
        return True

    def depth(self, folder: int) -> int:
        """How many folders lie above a folder."""
        count = 0
        while folder != ROOT and self.nodes[folder].names:
            folder = self.nodes[folder].names[0][0]
            count += 1
        return count

    def folders(self) -> Iterator[int]:
        """Visible folders, each before what it holds. Folders that vanish meanwhile are left out."""
        waiting = [ROOT]
        for folder in waiting:
            if folder in self.nodes:
                yield folder  # may be lost, or lose some of what it holds, before we go on
            node = self.nodes.get(folder)
            if node is not None:
                waiting += [c for c in node.children.values() if self.nodes[c].kind is ObjectKind.FOLDER]

    # Moving things

    def take_out(self, folder: int, name: bytes) -> int:
        """Remove a name; an object that loses its last one goes to the store, a symbolic link goes."""
        path = self.entry_path(folder, name)
        obj = self.nodes[folder].children[name]
        node = self.nodes[obj]
        last = len(node.names) == 1
        if last and node.kind is not ObjectKind.SYMLINK:
            os.rename(path, self.stored_path(obj))
            if node.kind is ObjectKind.FOLDER:
                self.hidden.add(obj)
        else:
            os.unlink(path)
        self._unbook(folder, name, obj)
        if last and node.kind is ObjectKind.SYMLINK:
            del self.nodes[obj]
        return obj

    def put(self, folder: int, name: bytes, obj: int) -> None:
        """Give an object that exists a name; a folder must wait in the store."""
        node = self.nodes[obj]
        path = self.entry_path(folder, name)
        if node.names:
            os.link(self.path(obj), path, follow_symlinks=False)
            self.linked.add(obj)
        else:
            os.rename(self.stored_path(obj), path)
            if node.kind is ObjectKind.FOLDER:
                self._paths = {ROOT: self.root}
                self.touched_folders.add(obj)
                self.hidden.discard(obj)
        self._book(folder, name, obj)

    def make(self, folder: int, name: bytes, obj: int, kind: ObjectKind, target: bytes) -> None:
        """Build a new, empty object under a name."""
        path = self.entry_path(folder, name)
        if kind is ObjectKind.SYMLINK:
            os.symlink(target, path)
        elif kind is ObjectKind.FOLDER:
            os.mkdir(path, 0o700)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        status = os.stat(path, follow_symlinks=False)
        self.nodes[obj] = _node(kind, status, target)
        self._book(folder, name, obj)
        if kind is ObjectKind.FOLDER:
            self.touched_folders.add(obj)
            if self.watch is not None:
                self.watch.add(obj, path)

    def adopt(self, folder: int, name: bytes, obj: int) -> None:
        """Take a folder into the books that is there already, with whatever is in it. Nothing has to be done to it."""
        self.nodes[obj] = _node(ObjectKind.FOLDER, os.stat(self.entry_path(folder, name), follow_symlinks=False))
        self.nodes[obj].meta, self.nodes[obj].xattrs, self.nodes[obj].adopted = False, None, True
        self._book(folder, name, obj)

    def discard(self, obj: int) -> None:
        """Delete a file that waits in the store."""
        os.unlink(self.stored_path(obj))
        del self.nodes[obj]

    # Keeping books

    def touch(self, entries: Iterable[Entry], objects: Iterable[int]) -> None:
        """Note that names and objects were changed by us."""
        self.touched.update(entries)
        for obj in objects:
            node = self.nodes.get(obj)
            if node is not None:
                self.touched.update(node.names)
                self.touched_folders.add(obj)

    def touch_name(self, entry: Entry) -> None:
        """Note that a name was changed by us, and let the kernel tell of it before its queue is full."""
        self.touched.add(entry)
        self._untold += 1
        if self._untold >= _TOLD_AT_ONCE:
            self._untold = 0
            if self.watch is not None:
                self.watch.collect()

    def lose(self, folder: int, name: bytes) -> None:
        """A name no longer stands for what the books say: forget it, and objects that have no other."""
        obj = self.nodes[folder].children[name]
        self._unbook(folder, name, obj)
        waiting = [obj]
        while waiting:
            lost = waiting.pop()
            node = self.nodes.get(lost)
            if node is None or node.names:
                continue
            for child_name, child in list(node.children.items()):
                self._unbook(lost, child_name, child)
                waiting.append(child)
            del self.nodes[lost]
            self.hidden.discard(lost)
            if node.kind is ObjectKind.FOLDER and self.watch is not None:
                self.watch.remove(lost)

    def _book(self, folder: int, name: bytes, obj: int) -> None:
        self.nodes[folder].children[name] = obj
        self.nodes[obj].names.append((folder, name))
        self.touch_name((folder, name))

    def _unbook(self, folder: int, name: bytes, obj: int) -> None:
        del self.nodes[folder].children[name]
        node = self.nodes[obj]
        node.names.remove((folder, name))
        self.touch_name((folder, name))
        if len(node.names) == 1:
            self.linked.discard(obj)
        if node.kind is ObjectKind.FOLDER:
            self._paths = {ROOT: self.root}
            self.touched_folders.add(obj)

"""Restoring an image after a check, whatever the check did to it.

Before: the watch says which names were touched; the books say what stood there. After: what is not in the books is
deleted, what is no longer on disk is no longer in the books, and files that may hold other bytes are marked, so that
the next move rebuilds the one and compares the other. The books then hold nothing that the disk does not.

A file can also be changed through a hard link that is gone again, which no event tells of. So when a name was made,
removed or replaced, the change times of all files are looked at.

Folders are opened from the root down, one name at a time and never through a link: a check that puts a link to
somebody's home in the place of a folder must not make us delete there.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH101, PTH108, PTH115, PTH116, PTH208
from __future__ import annotations

import os
import stat

from powercut.image.disk_index import ROOT, DiskIndex, Entry, Node
from powercut.image.inotify import Dirt
from powercut.image.layers import Layers
from powercut.image.trash import throw_away
from powercut.states.objects import ObjectKind

_FORMATS = {ObjectKind.FILE: stat.S_IFREG, ObjectKind.FOLDER: stat.S_IFDIR, ObjectKind.SYMLINK: stat.S_IFLNK}
_OPEN = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnexplainedChange(Exception):
    """The disk differs from the books in a way that no event explains: everything must be rebuilt."""


class Repair:
    """One round of repairs. ``entries`` are names to look at again, ``objects`` those whose content is in doubt."""

    def __init__(self, disk_index: DiskIndex, privileged: bool, settled: int, layers: Layers | None = None) -> None:
        """`layers`: where the user's folder lies below: what is not in the books may be that."""
        self.entries: set[Entry] = set()
        self.objects: set[int] = set()
        self._disk_index = disk_index
        self._nodes = disk_index.nodes
        self._privileged = privileged
        self._layers = layers
        self._settled = settled  # the time (ns) at which the disk was certainly right
        self._names_changed = False
        self._open: dict[int, int] = {}

    def run(self, dirt: Dirt | None) -> None:
        """Repair what was touched; None when nobody watched: everything is looked at."""
        try:
            if dirt is None:
                for folder in self._disk_index.folders():
                    self._examine(folder, None)
            else:
                self._examine_touched(dirt)
            if self._names_changed:
                self._sweep()
            for obj in list(self.objects):
                if obj in self._nodes:
                    self._doubt(obj, self._nodes[obj])
        finally:
            for fd in self._open.values():
                os.close(fd)

    def _examine_touched(self, dirt: Dirt) -> None:
        if ROOT in dirt.gone:
            raise UnexplainedChange("the root of the image is gone")
        for folder in dirt.folders | dirt.gone:
            node = self._nodes.get(folder)
            if node is not None:
                self.objects.add(folder)
                for parent, name in node.names:
                    dirt.add(parent, name)
        known = [folder for folder in dirt.names if folder in self._nodes]
        for folder in sorted(known, key=self._disk_index.depth):
            if folder in self._nodes:  # it may have been lost with a folder above it
                self._examine(folder, dirt.names[folder], dirt.gone)

    def _examine(self, folder: int, touched: set[bytes] | None, gone: set[int] | frozenset[int] = frozenset()) -> None:
        fd = self._folder_fd(folder)
        children = self._nodes[folder].children
        if touched is None:
            self.objects.add(folder)
            touched = {os.fsencode(name) for name in os.listdir(f"/proc/self/fd/{fd}")} | children.keys()
        for name in touched:
            self.entries.add((folder, name))
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                status = None
            obj = children.get(name)
            if obj is not None and obj not in gone and self._is(obj, status):
                self.objects.add(obj)
                continue
            if self._layers is not None:
                self._require_ours(folder, name, obj)
            self._names_changed = True
            if status is not None:
                throw_away(name, fd, self._disk_index.store)
            if obj is not None:
                self._disk_index.lose(folder, name)

    def _require_ours(self, folder: int, name: bytes, obj: int | None) -> None:
        """What the program did not touch, and folders that hold such things, cannot be put right one by one."""
        assert self._layers is not None
        below = obj is None and self._layers.holds(self._disk_index.entry_path(folder, name))
        if below or (obj is not None and self._nodes[obj].adopted):
            raise UnexplainedChange("the check changed what the program had not touched")

    def _sweep(self) -> None:
        """Doubt every file that changed since the disk was right, by whatever name."""
        for obj, node in self._nodes.items():
            if node.kind is ObjectKind.FILE and node.names and obj not in self.objects:
                status = os.stat(self._disk_index.path(obj), follow_symlinks=False)
                if status.st_ctime_ns >= self._settled:
                    self.objects.add(obj)

    def _is(self, obj: int, status: os.stat_result | None) -> bool:
        node = self._nodes[obj]
        return status is not None and status.st_ino == node.ino and stat.S_IFMT(status.st_mode) == _FORMATS[node.kind]

    def _folder_fd(self, folder: int) -> int:
        """A handle on a folder that is certainly the one in the books."""
        fd = self._open.get(folder)
        if fd is not None:
            return fd
        node = self._nodes[folder]
        try:
            if folder == ROOT or not node.names:
                fd = os.open(self._disk_index.path(folder), _OPEN)
            else:
                parent, name = node.names[0]
                fd = os.open(name, _OPEN, dir_fd=self._folder_fd(parent))
        except OSError as error:
            raise UnexplainedChange(f"folder {folder} is not where it was") from error
        self._open[folder] = fd
        status = os.fstat(fd)
        if status.st_ino != node.ino:
            raise UnexplainedChange(f"folder {folder} is another one")
        if not self._privileged and status.st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{fd}", 0o700)
            self.objects.add(folder)
        return fd

    def _doubt(self, obj: int, node: Node) -> None:
        """Note what the disk holds, or lose an object that cannot be what it was."""
        path = self._disk_index.path(obj)
        status = os.stat(path, follow_symlinks=False)
        if node.kind is ObjectKind.SYMLINK:
            if os.readlink(path) != node.target:
                self._drop(obj, node)
            return
        if node.kind is ObjectKind.FILE:
            if status.st_nlink != len(node.names):  # a name somewhere that we do not know of
                self._drop(obj, node)
                return
            node.size = status.st_size
            node.doubted = True
        node.mode = status.st_mode & 0o7777
        node.xattrs = None
        node.meta = True
        node.owner = status.st_uid, status.st_gid

    def _drop(self, obj: int, node: Node) -> None:
        for folder, name in list(node.names):
            os.unlink(self._disk_index.entry_path(folder, name))
            self.entries.add((folder, name))
            self._disk_index.lose(folder, name)

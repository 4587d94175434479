"""Moving names and objects on disk from their places in one image to those in the next.

Before: the books (`DiskIndex`) are right, and some names may stand for other objects in the new image. After: all names
of the image stand for their objects, except those that a disk cannot hold (a second name of a folder, a folder inside
itself), which are tried again at the next move. New objects are empty still; what has to be done to objects is
noted in two sets: ``stale`` ones are to be brought up to date now, ``waiting`` ones when they become visible.
"""

from __future__ import annotations

from collections.abc import Iterable

from powercut.image.disk_index import ROOT, DiskIndex, Entry
from powercut.image.image import Image
from powercut.states.objects import ObjectKind


class NameMoves:
    """The names of one image folder."""

    def __init__(self, disk_index: DiskIndex, store_limit: int) -> None:
        self.disk_index = disk_index
        self.stale: set[int] = {ROOT}
        self.waiting: set[int] = set()
        self.withheld: set[Entry] = set()  # names of the image that the disk cannot hold now
        self._stored: dict[int, int] = {}  # files in the store and their sizes, oldest first
        self._store_limit = store_limit

    def apply(self, image: Image, entries: Iterable[Entry]) -> None:
        """Take out all that is old, then put in all that is new, folders first."""
        disk_index = self.disk_index
        new: list[tuple[int, bytes, int]] = []
        self.withheld = set()
        for folder, name in entries:
            node = disk_index.nodes.get(folder)
            if node is None:
                continue
            wanted = image.entry(folder, name)
            found = node.children.get(name)
            if wanted != found:
                if found is not None:
                    self._take_out(folder, name)
                if wanted is not None:
                    new.append((folder, name, wanted))
        others: list[tuple[int, bytes, int]] = []
        for folder, name, obj in new:  # grows while folders are made
            kind = image.kind(obj)
            if kind is not ObjectKind.FOLDER:
                if kind is not ObjectKind.OTHER:
                    others.append((folder, name, obj))
            elif self._put_folder(folder, name, obj):
                new.extend((obj, child, number) for child, number in image.entries(obj).items())
        for folder, name, obj in others:
            self._put_other(image, folder, name, obj)
        self._hide_links()
        self._evict()

    def _take_out(self, folder: int, name: bytes) -> None:
        obj = self.disk_index.take_out(folder, name)
        node = self.disk_index.nodes.get(obj)
        if node is not None and not node.names and node.kind is ObjectKind.FILE:
            self._stored[obj] = node.size

    def _put_folder(self, folder: int, name: bytes, obj: int) -> bool:
        """Place a folder; whether it is a new one. A folder has one place on disk, and none inside itself."""
        node = self.disk_index.nodes.get(obj)
        if node is None:
            self.disk_index.make(folder, name, obj, ObjectKind.FOLDER, b"")
            self.stale.add(obj)
            return True
        if node.names or obj == ROOT or self._inside(folder, obj):
            self.withheld.add((folder, name))
            return False
        self.disk_index.put(folder, name, obj)
        self.stale |= self.waiting
        self.waiting = set()
        return False

    def _inside(self, folder: int, outer: int) -> bool:
        while folder != outer:
            names = self.disk_index.nodes[folder].names
            if not names:
                return False
            folder = names[0][0]
        return True

    def _put_other(self, image: Image, folder: int, name: bytes, obj: int) -> None:
        node = self.disk_index.nodes.get(obj)
        if node is None:
            kind = image.kind(obj)
            target = image.target(obj) if kind is ObjectKind.SYMLINK else b""
            self.disk_index.make(folder, name, obj, kind, target)
        else:
            self.disk_index.put(folder, name, obj)
            self._stored.pop(obj, None)
            self.waiting.discard(obj)
        self.stale.add(obj)

    def _hide_links(self) -> None:
        """Names in folders that nobody sees must not count as links of files that are seen."""
        disk_index = self.disk_index
        if not disk_index.hidden:
            return
        for obj in list(disk_index.linked):
            for folder, name in list(disk_index.nodes[obj].names):
                if len(disk_index.nodes[obj].names) > 1 and not disk_index.visible(folder):
                    disk_index.take_out(folder, name)
                    self.withheld.add((folder, name))

    def _evict(self) -> None:
        """Keep the store small."""
        total = sum(self._stored.values()) if self._stored else 0
        while total > self._store_limit:
            obj = next(iter(self._stored))
            total -= self._stored.pop(obj)
            self.disk_index.discard(obj)
            self.waiting.discard(obj)
            self.stale.discard(obj)

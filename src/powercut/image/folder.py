"""A folder on disk that follows from crash state to crash state, at the cost of the difference.

Before ``move_to``: the folder holds the last state, and whatever a check has done to it since. After: it holds exactly
the image of the new state: names, kinds, bytes, modes, link counts, extended attributes. Objects of other kinds
(fifos, sockets, devices) are left out.

Objects are built when they first become visible. Those that lose their names wait in the store, with what has to be
done to them noted, and are brought up to date when they are seen again. When something is found that nothing explains,
the folder is built again from nothing.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH101, PTH103
from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from pathlib import Path

from powercut.image.content import update_attributes, update_file
from powercut.image.image import Changes, Image, ObjectKind
from powercut.image.placement import ROOT, Entry, Placement
from powercut.image.repair import Repair, UnexplainedChange
from powercut.image.scratch import ScratchError, is_privileged
from powercut.image.trash import empty_folder
from powercut.image.watch import Dirt, Watch, WatchLimit
from powercut.run.jobs import Timeline
from powercut.states.state import State

STORE_LIMIT = 256 << 20  # bytes of files without a name that are kept for later
_ROUNDS = 5  # moves until the folder must have come to rest
_CLOCK_OF_FILES = 5  # CLOCK_REALTIME_COARSE, the one that change times are taken from


class ImageFolder:
    """The image of one timeline's states under ``root``, with ``store`` beside it on the same mount."""

    def __init__(self, root: Path, store: Path, timeline: Timeline, store_limit: int = STORE_LIMIT) -> None:
        self._root = os.fsencode(root)
        self._store = os.fsencode(store)
        self._timeline = timeline
        self._store_limit = store_limit
        self._privileged = is_privileged()
        self._state: State | None = None
        self._watch: Watch | None = None
        self._watching = True
        self._settled = 0
        self.rebuilds = 0  # how often everything was built from nothing
        for folder in (root, store):
            folder.mkdir(parents=True, exist_ok=True)

    def collect(self) -> None:
        """Take events off the kernel's queue while a check runs."""
        if self._watch is not None:
            self._watch.collect()

    def move_to(self, state: State) -> None:
        """Make the folder hold the image of a state."""
        image = self._timeline.image(state)
        before, self._state = self._state, None  # until all is done, nothing is known
        try:
            if before is None:
                self._rebuild(image)
            else:
                changes = self._timeline.changes(before, state)
                try:
                    self._follow(image, changes)
                except (OSError, UnexplainedChange, WatchLimit):
                    self._rebuild(image)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ScratchError.full(os.fsdecode(self._root)) from error
            raise
        self._state = state

    def close(self) -> None:
        """Stop watching. The folders stay."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    # From nothing, or from the last state

    def _rebuild(self, image: Image) -> None:
        if self._watching:
            try:
                self._build(image)
                return
            except WatchLimit:
                self._watching = False  # every move will look at everything
        self._build(image)

    def _build(self, image: Image) -> None:
        self.rebuilds += 1
        self.close()
        os.makedirs(self._root, exist_ok=True)
        if not self._privileged:
            os.chmod(self._root, 0o700)
        empty_folder(self._root, self._store)
        empty_folder(self._store, self._store)
        self._watch = Watch() if self._watching else None
        self._placement = Placement(self._root, self._store, self._watch)
        self._stale: set[int] = {ROOT}  # objects to bring up to date now
        self._waiting: set[int] = set()  # objects to bring up to date when they become visible
        self._withheld: set[Entry] = set()  # names of the image that the disk cannot hold now
        self._closed: set[int] = set()  # folders whose modes would keep us out
        self._stored: dict[int, int] = {}  # files in the store and their sizes, oldest first
        self._settle(image, ((ROOT, name) for name in image.entries(ROOT)))

    def _follow(self, image: Image, changes: Changes) -> None:
        dirt = self._watch.take() if self._watch is not None else None
        entries = self._repair(dirt)
        self._note(changes, image)
        self._settle(image, changes.entries | entries | self._withheld)

    def _settle(self, image: Image, entries: Iterable[Entry]) -> None:
        """Apply, and look whether something else moved meanwhile: the kernel's late work for a dead process."""
        for _ in range(_ROUNDS):
            self._open_folders()
            self._apply(image, entries)
            self._update(image)
            if self._watch is None:
                return
            rest = self._watch.take().without(self._placement.touched, self._placement.touched_folders)
            self._placement.touched.clear()
            self._placement.touched_folders.clear()
            self._settled = time.clock_gettime_ns(_CLOCK_OF_FILES)
            if not rest:
                return
            entries = self._repair(rest) | self._withheld
        raise UnexplainedChange("the folder does not come to rest")

    def _repair(self, dirt: Dirt | None) -> set[Entry]:
        if dirt is not None and not dirt:
            return set()
        if dirt is not None and dirt.overflow:
            raise UnexplainedChange("more happened than the kernel could tell")
        repair = Repair(self._placement, self._privileged, self._settled)
        repair.run(dirt)
        self._stale |= repair.objects
        self._placement.touch(repair.entries, repair.objects)
        return repair.entries

    # Names

    def _note(self, changes: Changes, image: Image) -> None:
        """Write down what may differ in objects that exist; those that do not are built from the image anyway."""
        nodes = self._placement.nodes
        for file, blocks in changes.blocks.items():
            node = nodes.get(file)
            if node is not None:
                if blocks is None:
                    node.blocks = None
                elif node.blocks is not None:
                    node.blocks |= blocks
                self._stale.add(file)
        for obj in changes.meta:
            node = nodes.get(obj)
            if node is not None:
                node.meta = True
                self._stale.add(obj)
                if node.kind is ObjectKind.FILE:
                    node.low = min(node.low, image.size(obj))

    def _apply(self, image: Image, entries: Iterable[Entry]) -> None:
        """Take out all that is old, then put in all that is new, folders first."""
        placement = self._placement
        new: list[tuple[int, bytes, int]] = []
        self._withheld = set()
        for folder, name in entries:
            node = placement.nodes.get(folder)
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
        obj = self._placement.take_out(folder, name)
        node = self._placement.nodes.get(obj)
        if node is not None and not node.names and node.kind is ObjectKind.FILE:
            self._stored[obj] = node.size

    def _put_folder(self, folder: int, name: bytes, obj: int) -> bool:
        """Place a folder; whether it is a new one. A folder has one place on disk, and none inside itself."""
        node = self._placement.nodes.get(obj)
        if node is None:
            self._placement.make(folder, name, obj, ObjectKind.FOLDER, b"")
            self._stale.add(obj)
            return True
        if node.names or obj == ROOT or self._inside(folder, obj):
            self._withheld.add((folder, name))
            return False
        self._placement.put(folder, name, obj)
        self._stale |= self._waiting
        self._waiting = set()
        return False

    def _inside(self, folder: int, outer: int) -> bool:
        while folder != outer:
            names = self._placement.nodes[folder].names
            if not names:
                return False
            folder = names[0][0]
        return True

    def _put_other(self, image: Image, folder: int, name: bytes, obj: int) -> None:
        node = self._placement.nodes.get(obj)
        if node is None:
            kind = image.kind(obj)
            target = image.target(obj) if kind is ObjectKind.SYMLINK else b""
            self._placement.make(folder, name, obj, kind, target)
        else:
            self._placement.put(folder, name, obj)
            self._stored.pop(obj, None)
            self._waiting.discard(obj)
        self._stale.add(obj)

    def _hide_links(self) -> None:
        """Names in folders that nobody sees must not count as links of files that are seen."""
        placement = self._placement
        if not placement.hidden:
            return
        for obj in list(placement.linked):
            for folder, name in list(placement.nodes[obj].names):
                if len(placement.nodes[obj].names) > 1 and not placement.visible(folder):
                    placement.take_out(folder, name)
                    self._withheld.add((folder, name))

    def _evict(self) -> None:
        """Keep the store small."""
        total = sum(self._stored.values()) if self._stored else 0
        while total > self._store_limit:
            obj = next(iter(self._stored))
            total -= self._stored.pop(obj)
            self._placement.discard(obj)
            self._waiting.discard(obj)
            self._stale.discard(obj)

    # Content

    def _update(self, image: Image) -> None:
        """Bring all visible objects in line with the image; folders last, the deepest first."""
        placement = self._placement
        folders: list[int] = []
        stale, self._stale = self._stale, set()
        for obj in stale:
            node = placement.nodes.get(obj)
            if node is None:
                continue
            if not placement.visible(obj):
                self._waiting.add(obj)
            elif node.kind is ObjectKind.FOLDER:
                folders.append(obj)
            elif node.kind is ObjectKind.FILE:
                path = placement.path(obj)
                placement.touched.add(node.names[0])
                written = update_file(path, obj, node, image)
                update_attributes(path, obj, node, image, written)
        for obj in sorted(folders, key=placement.depth, reverse=True) if len(folders) > 1 else folders:
            node = placement.nodes[obj]
            placement.touched.update(node.names)
            placement.touched_folders.add(obj)
            update_attributes(placement.path(obj), obj, node, image)
            if not self._privileged and node.mode & 0o700 != 0o700:
                self._closed.add(obj)

    def _open_folders(self) -> None:
        """Make folders that would keep us out passable again, from the root down."""
        placement = self._placement
        closed = [obj for obj in self._closed if obj in placement.nodes]
        self._closed.clear()
        for obj in sorted(closed, key=placement.depth):
            os.chmod(placement.path(obj), 0o700)
            placement.nodes[obj].mode = 0o700
            placement.touched.update(placement.nodes[obj].names)
            placement.touched_folders.add(obj)
            self._stale.add(obj)

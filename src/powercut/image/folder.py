"""A folder on disk that changes from crash state to crash state, at the cost of the difference.

Before ``move_to``: the folder holds the last state, and whatever a check has done to it since. After: it holds exactly
the image of the new state: names, kinds, bytes, modes, link counts, extended attributes. Objects of other kinds
(fifos, sockets, devices) are left out.

Objects are built when they first become visible. Those that lose their names wait in the store, with what has to be
done to them noted, and are brought up to date when they are seen again. When something is found that nothing explains,
or the kernel's queue of events overflowed while a check ran, the folder is built again from nothing.
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
from powercut.image.disk_index import ROOT, DiskIndex, Entry
from powercut.image.image import Image, Images
from powercut.image.inotify import Dirt, Watch, WatchLimit
from powercut.image.layers import Layers
from powercut.image.name_moves import NameMoves
from powercut.image.restore import Repair, UnexplainedChange
from powercut.image.scratch import ScratchError, is_privileged
from powercut.image.trash import empty_folder, throw_away
from powercut.states.objects import Changes, ObjectKind
from powercut.states.state import State

STORE_LIMIT = 256 << 20  # bytes of files without a name that are kept for later
_ROUNDS = 5  # moves until the folder must have come to rest
_CLOCK_OF_FILES = 5  # CLOCK_REALTIME_COARSE, the one that change times are taken from


class ImageFolder:
    """The image of states of one trace's timelines under ``root``, with ``store`` beside it on the same mount."""

    def __init__(
        self,
        root: Path,
        store: Path,
        images: Images,
        store_limit: int = STORE_LIMIT,
        layers: Layers | None = None,
    ) -> None:
        """`layers`: what shows the user's folder below, where images do not hold all of it."""
        self._layers = layers
        self._root = os.fsencode(root)
        self._store = os.fsencode(store)
        self._images = images
        self._store_limit = store_limit
        self._privileged = is_privileged()
        self._state: State | None = None
        self._left: Images | None = None  # whose state it holds, if another timeline was turned to since
        self._watch: Watch | None = None
        self._watching = True
        self._settled = 0
        self.rebuilds = 0  # how often everything was built from nothing
        for folder in (root, store) if layers is None else ():
            folder.mkdir(parents=True, exist_ok=True)

    def collect(self) -> None:
        """Take events off the kernel's queue while a check runs."""
        if self._watch is not None:
            self._watch.collect()

    def turn_to(self, images: Images) -> None:
        """Go on with the states of another timeline of the same trace: its objects have the same numbers."""
        if self._left is None:
            self._left = self._images
        self._images = images

    def move_to(self, state: State) -> None:
        """Make the folder hold the image of a state."""
        image = self._images.image(state)
        before, self._state = self._state, None  # until all is done, nothing is known
        try:
            if before is None:
                self._rebuild(image)
            else:
                changes = self._changes(before, state)
                try:
                    self._follow(image, changes)
                except (OSError, UnexplainedChange, WatchLimit):
                    self._rebuild(image)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ScratchError.full(os.fsdecode(self._root)) from error
            raise
        self._state, self._left = state, None

    def _changes(self, before: State, after: State) -> Changes:
        if self._left is None:
            return self._images.changes(before, after)
        return self._images.changes_from(self._left, before, after)

    def inodes(self) -> dict[int, int] | None:
        """Which inode stands for which object; None when the disk cannot hold all names of the image."""
        if self._names.withheld:
            return None
        return {node.ino: obj for obj, node in self._disk_index.nodes.items()}

    def close(self) -> None:
        """Stop watching. The folders stay."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    # From nothing, or from the last state

    def _rebuild(self, image: Image) -> None:
        self._build(image)
        if self._watching:
            try:
                self._start_watching(image)
            except WatchLimit:
                self._watching = False  # every move will look at everything
                self._disk_index.watch = None
                self.close()
                self._settle(image, self._names.withheld)

    def _build(self, image: Image) -> None:
        self.rebuilds += 1
        self.close()
        if self._layers is not None:
            self._layers.renew()
        else:
            self._empty()
        self._disk_index = DiskIndex(self._root, self._store)
        self._names = NameMoves(self._disk_index, self._store_limit)
        self._closed: set[int] = set()  # folders whose modes would keep us out
        folders = [ROOT] if self._layers is None else self._adopt(self._layers)
        self._settle(image, ((folder, name) for folder in folders for name in image.entries(folder)))

    def _empty(self) -> None:
        os.makedirs(self._root, exist_ok=True)
        if not self._privileged:
            os.chmod(self._root, 0o700)
        empty_folder(self._root, self._store)
        empty_folder(self._store, self._store)

    def _adopt(self, layers: Layers) -> list[int]:
        """Take the user's folders into the books, without what the image has to say of them; all that it may.

        What the program touched is taken out of the layer: it is built anew, from the trace.
        """
        disk_index, below = self._disk_index, self._images.below
        assert below is not None
        disk_index.nodes[ROOT].meta, disk_index.nodes[ROOT].adopted = False, True
        folders = [ROOT]
        for folder in folders:  # grows
            path = disk_index.folder_path(folder)
            layers.open_folder(path)
            for name, obj in below.names(folder).items():
                if below.is_open(obj):
                    disk_index.adopt(folder, name, obj)
                    folders.append(obj)
                elif os.path.lexists(path + b"/" + name):
                    throw_away(path + b"/" + name, None, self._store)
        return folders

    def _start_watching(self, image: Image) -> None:
        """Watch what was built. Only now, since the kernel's queue may be shorter than what building has to tell."""
        self._disk_index.touched.clear()
        self._disk_index.touched_folders.clear()
        self._watch = Watch()
        self._open_folders()
        self._disk_index.watch_with(self._watch)
        if self._layers is not None:
            for obj, node in self._disk_index.nodes.items():
                if node.adopted:
                    self._layers.watch(self._watch, self._disk_index, obj)
        self._settle(image, self._names.withheld)

    def _follow(self, image: Image, changes: Changes) -> None:
        if self._watch is None and self._layers is not None:
            raise UnexplainedChange("nobody watched what lies below")
        dirt = self._watch.take() if self._watch is not None else None
        entries = self._repair(dirt)
        self._note(changes, image)
        self._settle(image, changes.entries | entries | self._names.withheld)

    def _settle(self, image: Image, entries: Iterable[Entry]) -> None:
        """Apply, and look whether something else moved meanwhile: the kernel's late work for a dead process."""
        for _ in range(_ROUNDS):
            self._open_folders()
            self._names.apply(image, entries)
            self._update(image)
            if self._watch is None:
                return
            rest = self._watch.take(self._disk_index.touched, self._disk_index.touched_folders)
            self._disk_index.touched.clear()
            self._disk_index.touched_folders.clear()
            self._settled = time.clock_gettime_ns(_CLOCK_OF_FILES)
            if rest and self._layers is not None and not rest.overflow:
                self._look_below(rest, self._layers)
            if not rest:
                return
            entries = self._repair(rest) | self._names.withheld
        raise UnexplainedChange("the folder does not come to rest")

    def _repair(self, dirt: Dirt | None) -> set[Entry]:
        if dirt is not None and not dirt:
            return set()
        if dirt is not None and dirt.overflow:
            raise UnexplainedChange("more happened than the kernel could tell")
        if dirt is not None and self._layers is not None:
            self._look_below(dirt, self._layers)
        repair = Repair(self._disk_index, self._privileged, self._settled, self._layers)
        repair.run(dirt)
        self._names.stale |= repair.objects
        self._disk_index.touch(repair.entries, repair.objects)
        return repair.entries

    def _look_below(self, dirt: Dirt, layers: Layers) -> None:
        """Take out what was told of the layer: what we do ourselves comes there, too. The rest a check has done."""
        below = self._images.below
        assert below is not None
        for number in [number for number in dirt.names if number < 0]:
            folder, names = -1 - number, dirt.names.pop(number)
            known = self._disk_index.nodes[folder].children.keys() | below.names(folder).keys()
            if any(layers.holds(self._disk_index.entry_path(folder, name)) for name in names - known):
                raise UnexplainedChange("the check changed what the program had not touched")
        dirt.folders = {folder for folder in dirt.folders if folder >= 0}
        dirt.gone = {folder for folder in dirt.gone if folder >= 0}

    # Names

    def _note(self, changes: Changes, image: Image) -> None:
        """Write down what may differ in objects that exist; those that do not are built from the image anyway."""
        nodes = self._disk_index.nodes
        for file, blocks in changes.blocks.items():
            node = nodes.get(file)
            if node is not None:
                if blocks is None:
                    node.blocks = None
                elif node.blocks is not None:
                    node.blocks |= blocks
                self._names.stale.add(file)
        for obj in changes.meta:
            node = nodes.get(obj)
            if node is not None:
                node.meta = True
                self._names.stale.add(obj)
                if node.kind is ObjectKind.FILE:
                    node.low = min(node.low, image.size(obj))

    # Content

    def _update(self, image: Image) -> None:
        """Bring all visible objects in line with the image; folders last, the deepest first."""
        disk_index = self._disk_index
        folders: list[int] = []
        stale, self._names.stale = self._names.stale, set()
        for obj in stale:
            node = disk_index.nodes.get(obj)
            if node is None:
                continue
            if not disk_index.visible(obj):
                self._names.waiting.add(obj)
            elif node.kind is ObjectKind.FOLDER:
                folders.append(obj)
            elif node.kind is ObjectKind.FILE:
                path = disk_index.path(obj)
                disk_index.touch_name(node.names[0])
                written = update_file(path, obj, node, image)
                update_attributes(path, obj, node, image, written)
        for obj in sorted(folders, key=disk_index.depth, reverse=True) if len(folders) > 1 else folders:
            node = disk_index.nodes[obj]
            disk_index.touched.update(node.names)
            disk_index.touched_folders.add(obj)
            update_attributes(disk_index.path(obj), obj, node, image)
            if not self._privileged and node.mode & 0o700 != 0o700:
                self._closed.add(obj)

    def _open_folders(self) -> None:
        """Make folders that would keep us out passable again, from the root down."""
        disk_index = self._disk_index
        closed = [obj for obj in self._closed if obj in disk_index.nodes]
        self._closed.clear()
        for obj in sorted(closed, key=disk_index.depth):
            os.chmod(disk_index.path(obj), 0o700)
            disk_index.nodes[obj].mode = 0o700
            disk_index.touched.update(disk_index.nodes[obj].names)
            disk_index.touched_folders.add(obj)
            self._names.stale.add(obj)

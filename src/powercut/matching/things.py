"""What the names and objects of a timeline can be, and what an observed image demands of them.

Made once for a timeline and asked for many images. A path of an image stands for an object of the timeline only once
the names are decided, so demands come in two steps: a name demands that it stands for one of the objects that could be
what was observed there, and a path that stands for an object demands that object's mode, size, bytes and attributes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from powercut.image.state_image import StateImage
from powercut.matching.demands import (
    NEVER_TRUE,
    NO_OBJECT,
    Demand,
    SizeWriter,
    Writer,
    newest_shows,
    size_demands,
)
from powercut.matching.observed import Node
from powercut.matching.stretches import CONTENT_KINDS, FileBytes
from powercut.states.objects import ObjectKind
from powercut.states.timeline import Timeline
from powercut.states.tree import ROOT
from powercut.states.updates import UpdateKind

_SIZE_KINDS = (UpdateKind.SIZE, UpdateKind.CUT)
_OTHER_KINDS = (UpdateKind.ENTRY, UpdateKind.MODE, UpdateKind.XATTR)
_COMPARED_ATTRIBUTES = b"user."  # other namespaces need privileges, or belong to the kernel
_NO_WRITER = -1
_REMEMBERED = 1 << 16  # small demands that are kept


class Things:
    """The names and objects of one timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self._index = timeline.index
        self._files: dict[int, FileBytes] = {}
        self._small: dict[tuple[object, ...], list[Demand]] = {}  # demands of modes, sizes, attributes; absent names

    # Objects

    def of_object(self, obj: int, node: Node) -> list[Demand]:
        """What it takes for an object to be what was observed, but for the names in a folder."""
        if not self._could_be(obj, node):
            return [NEVER_TRUE]
        demands = [*self.of_mode(obj, node), *self.of_attributes(obj, node)]
        if node.kind is ObjectKind.FILE:
            demands += self.of_size(obj, node.content.size)
            if all(demand.patterns for demand in demands):
                demands += self.bytes_of(obj).demands(node.content)
        return demands

    def _could_be(self, obj: int, node: Node) -> bool:
        """Whether kind and target fit, which never change."""
        thing = self.timeline.tree.things[obj]
        return thing.kind == node.kind and (node.kind is not ObjectKind.SYMLINK or thing.target == node.target)

    def of_mode(self, obj: int, node: Node) -> list[Demand]:
        """What the permission bits demand. The data folder's own count only if the program changed them."""
        if not self.counts_mode(obj, node):
            return []
        return self._remembered(("mode", obj, node.mode), lambda: self._of_mode(obj, node.mode))

    def counts_mode(self, obj: int, node: Node) -> bool:
        """Whether the permission bits of an object are compared."""
        return (
            node.mode is not None
            and node.kind is not ObjectKind.SYMLINK
            and (obj != ROOT or bool(self._index.modes.get(obj)))
        )

    def _of_mode(self, obj: int, mode: int | None) -> list[Demand]:
        start = self.timeline.updates.start
        writers = [Writer(update, start[update] == mode) for update in reversed(self._index.modes.get(obj, []))]
        return self._demand(writers, self.timeline.tree.things[obj].mode == mode)

    def of_size(self, file: int, size: int) -> list[Demand]:
        """What the size of a file demands."""
        return self._remembered(("size", file, size), lambda: self._of_size(file, size))

    def _of_size(self, file: int, size: int) -> list[Demand]:
        updates = self.timeline.updates
        writers = [
            SizeWriter(update, updates.start[update], updates.kind[update] == UpdateKind.CUT)
            for update in reversed(self._by_object.get(file, []))
            if updates.kind[update] in _SIZE_KINDS
        ]
        return size_demands(self.timeline, writers, self.timeline.tree.things[file].base_size, size)

    def bytes_of(self, file: int) -> FileBytes:
        """The bytes of a file."""
        known = self._files.get(file)
        if known is None:
            kinds = self.timeline.updates.kind
            content = [update for update in self._by_object.get(file, []) if kinds[update] in CONTENT_KINDS]
            known = self._files[file] = FileBytes(self.timeline, file, content)
        return known

    @cached_property
    def _by_object(self) -> dict[int, list[int]]:
        """The updates of content and size of each file, in program order."""
        kinds = np.frombuffer(self.timeline.updates.kind or b"", np.int8)
        unknown = set(np.unique(kinds).tolist()) - {*CONTENT_KINDS, *_SIZE_KINDS, *_OTHER_KINDS}
        if unknown:  # what they do to an image must be said here before anything is called impossible
            raise LookupError(f"no rule says what updates of kinds {sorted(unknown)} demand")
        wanted = np.flatnonzero(np.isin(kinds, (*CONTENT_KINDS, *_SIZE_KINDS)))
        found: dict[int, list[int]] = defaultdict(list)
        for update in wanted.tolist():
            found[self.timeline.updates.obj[update]].append(update)
        return found

    def of_attributes(self, obj: int, node: Node) -> list[Demand]:
        """What extended attributes demand. Those that an object of the snapshot had are in no trace: any will do."""
        observed = self.counted_attributes(obj, node)
        if observed is None or (not observed and not self._index.xattrs.get(obj)):
            return []
        key = ("attributes", obj, frozenset(observed.items()))
        return self._remembered(key, lambda: list(self._of_attributes(obj, observed)))

    def counted_attributes(self, obj: int, node: Node) -> dict[bytes, bytes] | None:
        """The observed attributes that are compared; None if none is, not even a missing one."""
        if node.xattrs is None or (obj == ROOT and not self._index.xattrs.get(obj)):
            return None
        return {name: value for name, value in node.xattrs.items() if name.startswith(_COMPARED_ATTRIBUTES)}

    def known_attributes(self, obj: int, image: StateImage, observed: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """The attributes of an object in a state; where only the snapshot could tell, as observed."""
        updates, found = self.timeline.updates, dict(image.xattrs(obj))
        found = {name: value for name, value in found.items() if name.startswith(_COMPARED_ATTRIBUTES)}
        if obj in self._snapshot:
            changes = filter(image.survives, self._index.xattrs.get(obj, []))
            told = {updates.names[updates.start[update]] for update in changes}
            found.update({name: value for name, value in observed.items() if name not in told})
        return found

    def _of_attributes(self, obj: int, observed: dict[bytes, bytes]) -> Iterator[Demand]:
        updates, changes = self.timeline.updates, defaultdict[bytes, list[int]](list)
        for update in reversed(self._index.xattrs.get(obj, [])):
            changes[updates.names[updates.start[update]]].append(update)
        anything = obj in self._snapshot
        for name in {*changes, *observed}:
            if name.startswith(_COMPARED_ATTRIBUTES):
                value = observed.get(name)
                writers = [Writer(update, self._attribute(update) == value) for update in changes.get(name, ())]
                yield from self._demand(writers, anything or value is None)

    def _attribute(self, update: int) -> bytes | None:
        data = self.timeline.updates.data[update]
        return None if data < 0 else self.timeline.trace.blob(data, self.timeline.updates.length[update])

    @cached_property
    def _snapshot(self) -> set[int]:
        """The objects that were there before the program."""
        return {ROOT, *(obj for names in self.timeline.tree.base.values() for obj in names.values())}

    def _demand(self, writers: list[Writer], base: bool) -> list[Demand]:
        if base and all(writer.fits for writer in writers):
            return []
        return [Demand(newest_shows(self.timeline, writers, Writer(_NO_WRITER, fits=True) if base else None))]

    def _remembered(self, key: tuple[object, ...], make: Callable[[], list[Demand]]) -> list[Demand]:
        known = self._small.get(key)
        if known is None:
            if len(self._small) >= _REMEMBERED:
                self._small.clear()
            known = self._small[key] = make()
        return known

    # Names

    def names_in(self, folder: int, observed: Iterable[bytes]) -> Iterable[bytes]:
        """Every name that a folder ever has, or was observed to have."""
        base = self.timeline.tree.base.get(folder, {})
        return {**dict.fromkeys(base), **self._index.names_in.get(folder, {}), **dict.fromkeys(observed)}

    def candidates(self, folder: int, name: bytes) -> dict[int, None]:
        """Every object that a name ever stands for."""
        found = {value: None for _, value in self._index.names.get((folder, name), ()) if value != NO_OBJECT}
        base = self.timeline.tree.base.get(folder, {}).get(name)
        return found if base is None else {**found, base: None}

    def absent(self, folder: int, name: bytes) -> list[Demand]:
        """What it takes for a name not to be there."""
        return self._remembered(("absent", folder, name), lambda: self._of_name(folder, name, {NO_OBJECT: None}, None))

    def present(self, folder: int, name: bytes, objects: Iterable[int], path: bytes) -> list[Demand]:
        """What it takes for a name to stand for one of some objects; `path` is what they are found at."""
        return self._of_name(folder, name, objects, path)

    def _of_name(self, folder: int, name: bytes, objects: Iterable[int], path: bytes | None) -> list[Demand]:
        wanted = set(objects)
        base = self.timeline.tree.base.get(folder, {}).get(name, NO_OBJECT)
        changes = reversed(self._index.names.get((folder, name), ()))
        writers = [Writer(update, value in wanted, target=value) for update, value in changes]
        if not writers and path is None:
            return [] if base in wanted else [NEVER_TRUE]
        start = Writer(_NO_WRITER, fits=True, target=base) if base in wanted else None
        return [Demand(newest_shows(self.timeline, writers, start), path)]

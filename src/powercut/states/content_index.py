"""Where each part of an image comes from: the updates of every name, block, size and attribute, in program order.

The index is made once from the columns of a timeline, by sorting; looking up a name or a block does not depend on the
length of the trace. What blocks and sizes come from is looked up in C (`_engine.History`), names and attributes here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.printable import counted
from powercut.states.objects import BLOCK, Changes, ObjectKind
from powercut.states.tree import Tree
from powercut.states.updates import UpdateKind, Updates
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

_BLOCK_BITS = 40  # a block key: object above, block number below
_AT_ONCE = 1 << 20  # updates looked at together
_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]

_NAME_CHANGES: dict[
    int, tuple[str, str]
] = {  # a name that goes and one that comes, where a call does something else than to remove or to create
    Kind.RENAME: ("the removal of the old name", "the new name"),
    Kind.LINK: ("the removal of", "the creation of the link"),
}
_METADATA = (UpdateKind.CUT, UpdateKind.ZERO, UpdateKind.MODE, UpdateKind.XATTR)
_OF_METADATA = np.array([number in _METADATA for number in range(max(UpdateKind) + 1)])


class ContentIndex:
    """Updates by what they change.

    Attributes:
        history: the same for content and sizes, in C.
    """

    def __init__(self, trace: Trace, updates: Updates, tree: Tree, *, garbage: bool) -> None:
        """`garbage`: whether data that was lost shows as such where its size survived."""
        self.trace = trace
        self.updates = updates
        self.tree = tree
        self.names: dict[tuple[int, bytes], list[tuple[int, int]]] = defaultdict(list)  # -> (update, object or -1)
        self.names_in: dict[int, dict[bytes, None]] = defaultdict(dict)  # folder -> names that ever change
        for effect in range(len(updates.effect_update)):
            folder, name = updates.effect_folder[effect], updates.names[updates.effect_name[effect]]
            self.names[folder, name].append((updates.effect_update[effect], updates.effect_value[effect]))
            self.names_in[folder][name] = None
        self.cuts: dict[int, list[int]] = defaultdict(list)  # file -> CUT and ZERO updates
        self.modes: dict[int, list[int]] = defaultdict(list)
        self.xattrs: dict[int, list[int]] = defaultdict(list)
        self._index_metadata()
        self.history = self._make_history(garbage)

    def _make_history(self, garbage: bool) -> _engine.History:
        updates = self.updates
        kind, obj = np.frombuffer(updates.kind or b"", np.int8), np.frombuffer(updates.obj or b"", np.int32)
        cuts = (kind == UpdateKind.CUT) | (kind == UpdateKind.ZERO)
        return _engine.History(
            updates.kind,
            updates.obj,
            updates.start,
            updates.length,
            updates.data,
            updates.fresh,
            updates.guaranteed,
            self.trace.content,
            *self._by_block(kind, obj),
            _by_owner(kind == UpdateKind.SIZE, obj),
            _by_owner(cuts, obj),
            np.array([thing.base_size for thing in self.tree.things], np.int64),
            *self._extents(),
            garbage,
        )

    def _by_block(self, kind: npt.NDArray[np.int8], obj: _Int32) -> tuple[_Int64, _Int64, _Int32]:
        """Sort the data updates by block; an update of several blocks stands under each.

        The keys of all blocks that are touched, where the updates of each begin, and all these updates.
        """
        if len(kind) <= _AT_ONCE:
            keys, updates = next(self._block_keys(kind, obj), (np.empty(0, np.int64), np.empty(0, np.int32)))
            order = np.argsort(keys, kind="stable")
            some, begins = np.unique(keys[order], return_index=True)
            return some, np.append(begins, len(keys)), updates[order]
        counts: Counter[int] = Counter()
        for keys, _ in self._block_keys(kind, obj):
            counts.update(dict(zip(*map(np.ndarray.tolist, np.unique(keys, return_counts=True)), strict=True)))
        blocks = np.array(sorted(counts), np.int64)
        begins = np.cumsum([0, *(counts[block] for block in blocks.tolist())], dtype=np.int64)
        found, filled = np.empty(begins[-1], np.int32), begins[:-1].copy()
        for keys, updates in self._block_keys(kind, obj):
            order = np.argsort(keys, kind="stable")
            block, first, many = np.unique(keys[order], return_index=True, return_counts=True)
            place = np.searchsorted(blocks, block)
            found[np.arange(len(order)) + np.repeat(filled[place] - first, many)] = updates[order]
            filled[place] += many
        return blocks, begins, found

    def _block_keys(self, kind: npt.NDArray[np.int8], obj: _Int32) -> Iterator[tuple[_Int64, _Int32]]:
        """The blocks that data updates touch, with these updates, many at a time: all at once take much memory."""
        starts, lengths = (
            np.frombuffer(column or b"", np.int64) for column in (self.updates.start, self.updates.length)
        )
        for begin in range(0, len(kind), _AT_ONCE):
            some = kind[begin : begin + _AT_ONCE]
            written = (some == UpdateKind.DATA) | (some == UpdateKind.FILL)
            data = (np.flatnonzero(written) + begin).astype(np.int32)
            first = starts[data] // BLOCK
            counts = np.maximum((starts[data] + lengths[data] - 1) // BLOCK - first + 1, 0)
            keys = np.repeat(first | obj[data].astype(np.int64) << _BLOCK_BITS, counts)
            keys += np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
            yield keys, np.repeat(data, counts)

    def _extents(self) -> tuple[_Int32, _Int64]:
        """The content of the snapshot: whose each piece is; its offset in the file, length, place in the trace."""
        things = enumerate(self.tree.things)
        pieces = sorted((number, *extent) for number, thing in things for extent in thing.base_data if extent[1])
        table = np.array(pieces, np.int64).reshape(-1, 4)
        return table[:, 0].astype(np.int32), np.ascontiguousarray(table[:, 1:])

    def _index_metadata(self) -> None:
        updates = self.updates
        into = {UpdateKind.CUT: self.cuts, UpdateKind.ZERO: self.cuts, UpdateKind.MODE: self.modes}
        into[UpdateKind.XATTR] = self.xattrs
        kinds = np.frombuffer(updates.kind or b"", np.int8)
        for update in np.flatnonzero(_OF_METADATA[kinds]).tolist():
            into[UpdateKind(updates.kind[update])][updates.obj[update]].append(update)

    def everything(self) -> Changes:
        """All names, blocks and attributes of the base and of all updates."""
        changes = Changes()
        for folder, names in self.tree.base.items():
            changes.entries.update((folder, name) for name in names)
        changes.entries.update(self.names)
        for number, thing in enumerate(self.tree.things):
            changes.meta.add(number)
            if thing.kind == ObjectKind.FILE:
                changes.blocks[number] = None
        return changes

    def touched(self, differing: Iterable[int]) -> Changes:
        """Where images differ if just these updates survive in one and not in the other."""
        renamed, blocks, meta = self.history.touched(differing)
        updates, entries = self.updates, set[tuple[int, bytes]]()
        for update in renamed:
            first = updates.start[update]
            for effect in range(first, first + updates.length[update]):
                entries.add((updates.effect_folder[effect], updates.names[updates.effect_name[effect]]))
        return Changes(entries, blocks, meta)

    def path_of(self, obj: int, *, at: int | None = None) -> bytes:
        """The last path that the object had by update `at` (or ever), for messages."""
        names = self._names_of_objects.get(obj)
        if not names:
            return b"" if obj == 0 else b"(no name)"
        known = [place for update, place in names if at is None or update <= at]
        return self.path_at(known[-1] if known else names[0][1])

    @cached_property
    def _names_of_objects(self) -> dict[int, list[tuple[int, tuple[int, bytes]]]]:
        """Object -> (update that gave it the name, name), in program order."""
        found: dict[int, list[tuple[int, tuple[int, bytes]]]] = defaultdict(list)
        for folder, names in self.tree.base.items():
            for name, obj in names.items():
                found[obj].append((-1, (folder, name)))
        updates = self.updates
        for effect in range(len(updates.effect_update)):
            place = (updates.effect_folder[effect], updates.names[updates.effect_name[effect]])
            if updates.effect_value[effect] >= 0:
                found[updates.effect_value[effect]].append((updates.effect_update[effect], place))
        return found

    def places_of(self, obj: int) -> Iterable[tuple[int, bytes]]:
        """Every (folder, name) that ever stood for an object, once each."""
        return dict.fromkeys(place for _, place in self._names_of_objects.get(obj, ()))

    def path_at(self, place: tuple[int, bytes]) -> bytes:
        """The path of a name in a folder, for messages."""
        above = self.path_of(place[0]) if place[0] else b""
        return above + b"/" + place[1] if above else place[1]

    def describe(self, update: int) -> str:
        """An update in words."""
        updates = self.updates
        kind, obj, start = UpdateKind(updates.kind[update]), updates.obj[update], updates.start[update]
        name = self.path_of(obj, at=update).decode("utf-8", "replace") or "the data folder"
        if kind == UpdateKind.DATA:
            return f"bytes {start:,} to {start + updates.length[update]:,} of {name}"
        if kind == UpdateKind.SIZE:
            return f"the growth of {name} to {counted(start, 'byte')}"
        if kind == UpdateKind.CUT:
            return f"the truncation of {name} to {counted(start, 'byte')}"
        if kind in (UpdateKind.ZERO, UpdateKind.FILL):
            return f"the zeroing of bytes {start:,} to {start + updates.length[update]:,} of {name}"
        if kind == UpdateKind.MODE:
            return f"the change of the mode of {name} to {start:o}"
        if kind == UpdateKind.XATTR:
            return f"the change of the attribute {updates.names[start].decode('utf-8', 'replace')} of {name}"
        return self._describe_entry(update)

    def _describe_entry(self, update: int) -> str:
        """A change of names: a creation, a removal, a rename or one half of it, an exchange."""
        updates = self.updates
        first = updates.start[update]
        words = []
        for effect in range(first, first + updates.length[update]):
            place = (updates.effect_folder[effect], updates.names[updates.effect_name[effect]])
            path = self.path_at(place).decode("utf-8", "replace")
            words.append((path, updates.effect_value[effect] >= 0))
        call = int(self.trace.events["kind"][updates.event[update]])
        if len(words) == 2 and call == Kind.RENAME:
            (old, exchanged), (new, _) = words
            return f"the exchange of {old} and {new}" if exchanged else f"the rename of {old} to {new}"
        gone, made = _NAME_CHANGES.get(call, ("the removal of", "the creation of"))
        return " and ".join(f"{made if there else gone} {path}" for path, there in words)


def _by_owner(wanted: npt.NDArray[np.bool_], obj: _Int32) -> _Int32:
    """The numbers of some updates, by object and then in program order."""
    updates = np.flatnonzero(wanted).astype(np.int32)
    return updates[np.argsort(obj[updates], kind="stable")]

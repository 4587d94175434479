"""What a power cut can no longer take: the guarantees that syncs give (R7 to R10 of rules.py), and what waits for them.

Before: updates as the rules append them, noted here as long as nothing guarantees them. After a sync: each update that
its rule names, and all it needs, is guaranteed from the time `now` on. Syncs change nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from powercut import _engine
from powercut.model.filesystem import Datasync, FileSystem
from powercut.states.state import NEVER
from powercut.states.tree import ROOT, Tree
from powercut.states.updates import UpdateKind, Updates

_WRITTEN = (UpdateKind.DATA, UpdateKind.FILL)
_NOT_SETTLED = (*_WRITTEN, UpdateKind.MODE, UpdateKind.XATTR)


class Guarantees:
    """The updates of a run that are not guaranteed yet, by what a sync would be about.

    Attributes:
        now: the time at which a sync of this moment guarantees.
        of_object: content and attributes of a file or folder.
        naming: changes of the names of a file or folder.
        inside: changes of the names in a folder.
        creation: file or folder -> the update that gave it its first name.
        at_once: sizes that wait for no write-back.
        on_the_way: sizes at which write-back may stop, which no write asked for.
        in_lines: files whose data persist by cache lines.
    """

    def __init__(self, row: FileSystem, tree: Tree, updates: Updates, chains: _engine.Chains) -> None:
        self._row = row
        self._tree = tree
        self._updates = updates
        self._chains = chains
        self._all_synced = 0
        self.now = 0
        self.of_object: dict[int, list[int]] = defaultdict(list)
        self.naming: dict[int, list[int]] = defaultdict(list)
        self.inside: dict[int, list[int]] = defaultdict(list)
        self.creation: dict[int, int] = {}
        self.at_once: set[int] = set()
        self.on_the_way: set[int] = set()
        self.in_lines: set[int] = set()

    def sync(self, obj: int, *, data_only: bool = False, within: tuple[int, int] | None = None) -> None:
        """R7 and R8; R9 and M6 where only the data `within` a range counts."""
        is_folder = obj in self._tree.live  # the data of a folder are its names
        data_only = data_only and not is_folder and self._row.datasync is not Datasync.EVERYTHING
        waiting = self.of_object.pop(obj, [])
        left = [u for u in waiting if self._is_kept_back(u, data_only, within)]
        self.guarantee(set(waiting).difference(left) if left else waiting)
        if left:
            self.of_object[obj] = left
        if obj in self.in_lines:
            self.guarantee(self._chains.last_updates(obj, *(within or (0, NEVER))))
        if is_folder:
            self.guarantee(self.inside.pop(obj, ()))
        if self._row.sync_persists_names and not data_only:
            self.guarantee_names(obj)
        elif self._row.datasync is Datasync.CREATION and obj in self.creation:
            self.guarantee((self.creation[obj],))

    def _is_kept_back(self, update: int, data_only: bool, within: tuple[int, int] | None) -> bool:
        """Whether a sync of its file passes an update over."""
        kind = self._updates.kind[update]
        if data_only and kind in (UpdateKind.MODE, UpdateKind.XATTR):
            return True
        if within is None:
            return False
        start = self._updates.start[update]
        if kind == UpdateKind.SIZE:
            is_near = within[0] < start <= within[1] and update not in self.on_the_way
            return not is_near and update not in self.at_once
        return kind in _WRITTEN and (start >= within[1] or start + self._updates.length[update] <= within[0])

    def sync_all(self) -> None:
        """R9: sync and syncfs."""
        updates = range(self._all_synced, len(self._updates))
        self.guarantee(updates if self._row.sync_flushes else [u for u in updates if not self._is_over_old(u)])
        self._all_synced = len(self._updates)
        self.naming.clear()
        self.inside.clear()
        for obj, pending in list(self.of_object.items()):
            left = [u for u in pending if self._updates.guaranteed[u] == NEVER]
            if left:
                self.of_object[obj] = left
            else:
                del self.of_object[obj]

    def _is_over_old(self, update: int) -> bool:
        """Whether an update writes over old data: what is new in a file is followed by a size."""
        kind, after = self._updates.kind, update + 1
        if kind[update] not in _WRITTEN or self._updates.fresh[update]:
            return False
        obj, event = self._updates.obj, self._updates.event
        is_new = after < len(kind) and kind[after] == UpdateKind.SIZE and event[after] == event[update]
        return obj[update] not in self.in_lines and not is_new

    def guarantee_names(self, obj: int) -> None:
        """What became of the names of an object; without a journal, its names of this moment and new folders above."""
        changes = self.naming.pop(obj, [])
        if self._row.journal:
            self.guarantee(changes)
            return
        for update in changes:
            for folder in self._named_in(update, obj):
                self.guarantee((update,))
                self._guarantee_new_folder(folder)
            if not self._takes_along(update, obj):
                self.guarantee((update,))
        if obj in self._tree.live:
            self._guarantee_new_folder(obj)
        if left := [update for update in changes if self._updates.guaranteed[update] == NEVER]:
            self.naming[obj] = left

    def _named_in(self, update: int, obj: int) -> list[int]:
        """The folders in which a change of names gave an object a name that it still has."""
        first, updates = self._updates.start[update], self._updates
        effects = range(first, first + updates.length[update])
        live = self._tree.live
        return [
            updates.effect_folder[effect]
            for effect in effects
            if updates.effect_value[effect] == obj
            and live[updates.effect_folder[effect]].get(updates.names[updates.effect_name[effect]]) == obj
        ]

    def _guarantee_new_folder(self, folder: int) -> None:
        """A folder that the program made and never moved, and those above it."""
        for above in [folder, *self._tree.ancestors(folder)]:
            if above != ROOT and self.naming.get(above) == [self.creation.get(above)]:
                self.guarantee(self.naming.pop(above))

    def _takes_along(self, update: int, obj: int) -> bool:
        """Whether an update needs changes of other files and folders that are not guaranteed."""
        waiting, seen = [update], {update}
        while waiting:
            some = waiting.pop()
            if self._updates.guaranteed[some] != NEVER:
                continue
            if self._updates.obj[some] != obj:
                return True
            new = set(self._updates.needs_of(some)) - seen
            seen |= new
            waiting.extend(new)
        return False

    def guarantee(self, updates: Iterable[int]) -> None:
        """R10."""
        guaranteed = self._updates.guaranteed
        waiting = list(updates)
        while waiting:
            update = waiting.pop()
            if guaranteed[update] == NEVER:
                guaranteed[update] = self.now
                waiting.extend(self._updates.needs_of(update))

    def settle(self, obj: int, event: int) -> None:
        """M7: what the page fault in front of a store makes durable."""
        self.now = 2 * event - 1
        waiting = self.of_object.pop(obj, [])
        content = [u for u in waiting if self._updates.kind[u] in _NOT_SETTLED]
        if content:
            self.of_object[obj] = content
        self.guarantee(set(waiting).difference(content))
        self.guarantee_names(obj)

"""The built-in oracle: what every careful program keeps, judged without any check.

  - A file that is replaced (by rename) or rewritten (truncated to nothing and filled again) is old or new: its content
    is one that the program had finished (closed, synced or renamed into place), never empty, torn or mixed.
  - Nothing acknowledged by a sync is lost: a file that was synced is there, with what it held then or later.

It reads images straight from the timeline: nothing is built on disk. Files changed in place (databases, logs) have
rules of their own, which only a check can know: of those it asks no more than that synced data are not lost, and of one
that was put in place as a whole and written on there, that what it held then is there with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import field

import numpy as np
from xxhash import xxh3_128_intdigest

from powercut import _engine
from powercut.image.state_image import StateImage
from powercut.oracle.appended_files import appended_files
from powercut.oracle.verdict import Outcome, Verdict
from powercut.printable import counted
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.states.state import NEVER, Base, State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Flag, Kind

Place = tuple[int, bytes]  # a folder and a name in it
ABSENT, PRESENT = 0, 1  # versions of a file that is not there, and of one whose content does not matter


@dataclass(slots=True)
class _History:
    """The finished versions of one name, and which of them a sync made binding."""

    whole_from: int = NEVER  # first replaced or rewritten then: old or new from there on, nothing in between
    times: list[int] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    binding: list[tuple[int, int]] = field(default_factory=list)  # (time, position in versions)

    def version(self, image: StateImage, obj: int | None, stays: int | None = None) -> int:
        """What stands for the content of a file; of files that are not whole only whether they are there.

        `stays`: how many of its first bytes stand for it, where the program writes on in place; None: it does not.
        """
        if obj is None or image.kind(obj) is not ObjectKind.FILE:
            return ABSENT
        if self.whole_from == NEVER:
            return PRESENT
        size = image.size(obj)
        if stays is not None and size >= stays:
            kept: bytes = _engine.BlockHashes().update(image.survivors, obj, None, stays)
            return xxh3_128_intdigest(kept + obj.to_bytes(8, "little"), seed=2) or PRESENT
        content: bytes = _engine.BlockHashes().update(image.survivors, obj, None, size)  # holes cost nothing
        return xxh3_128_intdigest(content + size.to_bytes(8, "little"), seed=1) or PRESENT


class BuiltinOracle:
    """Judges states of the timelines of one trace."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._histories: dict[Place, _History] = defaultdict(_History)
        self._places = self._places_of_files()
        self._appended = appended_files(timeline)
        self._carried_in = self._files_carried_in()
        self._moments = self._stable_moments()
        self._mark_whole()
        for time, obj, synced in self._moments:
            self._note(time, obj, synced)

    @property
    def moments(self) -> list[int]:
        """The times of all finished versions, in order."""
        return [time for time, _, _ in self._moments]

    def whole_names(self) -> set[bytes]:
        """Paths of files that are replaced or rewritten, so that they must be old or new."""
        whole = (place for place, history in self._histories.items() if history.whole_from != NEVER)
        return {self._timeline.index.path_at(place) for place in whole} - self.appended_names()

    def appended_names(self) -> set[bytes]:
        """Paths of files that were put in place or emptied once, and are written on there."""
        image = StateImage(self._timeline, State(self._timeline.end, Base.ISSUED, frozenset()))
        whole = (place for place, history in self._histories.items() if history.whole_from != NEVER)
        return {self._timeline.index.path_at(place) for place in whole if image.entry(*place) in self._appended}

    def output_key(self, timeline: Timeline, point: int, unsaid: frozenset[int] = frozenset()) -> Hashable:
        """What the program is held to changes with every finished version."""
        return bisect_right(self.moments, point)

    def judge(self, timeline: Timeline, state: State, output_until: int | None = None) -> Verdict:
        """Look at every name that has a history."""
        image = StateImage(timeline, state)
        point = state.point if output_until is None else output_until
        for place, history in self._histories.items():
            problem = self._problem(image, place, history, point)
            if problem:
                name = self._timeline.index.path_at(place).decode("utf-8", "replace")
                return Verdict(Outcome.FAIL, 0, f"{name} {problem}")
        return Verdict(Outcome.PASS)

    def _problem(self, image: StateImage, place: Place, history: _History, point: int) -> str:
        done = bisect_right(history.times, point)
        bound = max((position for time, position in history.binding if time <= point), default=0)
        obj = image.entry(*place)
        version = self._version(history, image, obj)
        allowed = history.versions[bound : done + 1]  # the next one may be complete already
        if version in allowed:
            return ""
        if version == ABSENT:
            return "is missing, although it was synced" if bound else "is missing"
        if point >= history.whole_from:
            size = image.size(obj) if obj is not None else 0
            seen = (
                "is empty" if size == 0 else f"has {counted(size, 'byte')} that are neither its old nor its new content"
            )
            return "is older than the last synced version" if version in history.versions else seen
        return ""

    def _version(self, history: _History, image: StateImage, obj: int | None) -> int:
        return history.version(image, obj, None if obj is None else self._appended.get(obj))

    def _places_of_files(self) -> dict[int, list[Place]]:
        """Every name that a file ever had."""
        places: dict[int, list[Place]] = defaultdict(list)
        for folder, names in self._timeline.tree.base.items():
            for name, obj in names.items():
                places[obj].append((folder, name))
        for place, effects in self._timeline.index.names.items():
            for _, obj in effects:
                if obj >= 0 and place not in places[obj]:
                    places[obj].append(place)
        return places

    def _stable_moments(self) -> list[tuple[int, int, bool]]:
        """(time, object, by a sync) of each moment at which the program had finished a version of a file.

        What it replaces or cuts off was finished, too, right before.
        """
        kinds = self._timeline.trace.events["kind"]
        moments = []
        for event, obj in self._timeline.subjects.items():
            if self._timeline.tree.things[obj].kind is ObjectKind.FILE:
                synced = int(kinds[event]) in (Kind.FSYNC, Kind.FDATASYNC)
                moments.append((2 * event + 1 if synced else 2 * event, obj, synced))
                if int(kinds[event]) == Kind.RENAME:
                    moments.append((2 * event - 1, obj, False))
        for event, obj in self._carried_in.items():
            moments += [(2 * event - 1, obj, False), (2 * event, obj, False)]
        moments.extend(self._removals())
        for update in (u for cuts in self._timeline.index.cuts.values() for u in cuts):
            moments.append((2 * self._timeline.updates.event[update] - 1, self._timeline.updates.obj[update], False))
        written = set(self._timeline.updates.obj)
        files = [o for o in written if self._timeline.tree.things[o].kind is ObjectKind.FILE]
        return [*sorted(moments), *((self._timeline.end, obj, False) for obj in files)]

    def _files_carried_in(self) -> dict[int, int]:
        """(event, object) of each rename of a file from outside: it was finished there, and may replace another one."""
        trace = self._timeline.trace
        creations = trace.of_kind(Kind.CREATE)
        marks = int(Flag.IMPORT | Flag.TMPFILE)
        carried = creations[(trace.at("flags", creations) & marks) == marks]
        links = trace.of_kind(Kind.LINK)
        links = links[np.isin(trace.at("inode", links), trace.at("inode", carried))]
        return {event: self._timeline.updates.obj[self._timeline.updates_of(event)[0]] for event in links.tolist()}

    def _removals(self) -> Iterator[tuple[int, int, bool]]:
        """Names that were removed for good; one that is removed to make room for a rename was meant to be replaced."""
        for effects in self._timeline.index.names.values():
            for position, (update, obj) in enumerate(effects):
                following = effects[position + 1 : position + 2]
                replaced = following and self._is_rename(self._timeline.updates.event[following[0][0]])
                if obj < 0 and not replaced:
                    yield 2 * self._timeline.updates.event[update], self._timeline.updates.obj[update], False

    def _note(self, time: int, obj: int, synced: bool) -> None:
        image = StateImage(self._timeline, State(time, Base.ISSUED, frozenset()))
        for place in self._places[obj]:
            history = self._histories[place]
            if not history.versions:
                start = StateImage(self._timeline, State(0, Base.ISSUED, frozenset()))
                history.times.append(0)
                history.versions.append(self._version(history, start, start.entry(*place)))
            version = self._version(history, image, image.entry(*place))
            if version == ABSENT and time % 2:  # right before a rename: not there yet, or removed to make room
                continue
            if version != history.versions[-1]:
                history.times.append(time)
                history.versions.append(version)
            if synced and image.entry(*place) == obj:
                history.binding.append((time, len(history.versions) - 1))

    def _mark_whole(self) -> None:
        """When a name was first the target of a rename, or its file cut to nothing while it held something."""
        updates = self._timeline.updates
        for update in range(len(updates)):
            if updates.kind[update] == UpdateKind.CUT and updates.start[update] == 0:
                for place in self._places[updates.obj[update]]:
                    self._mark(place, updates.event[update])
            elif updates.kind[update] == UpdateKind.ENTRY and self._is_rename(updates.event[update]):
                first = updates.start[update]
                for effect in range(first, first + updates.length[update]):
                    if updates.effect_value[effect] >= 0:
                        place = (updates.effect_folder[effect], updates.names[updates.effect_name[effect]])
                        self._mark(place, updates.event[update])

    def _mark(self, place: Place, event: int) -> None:
        history = self._histories[place]
        history.whole_from = min(history.whole_from, 2 * event)

    def _is_rename(self, event: int) -> bool:
        return event in self._carried_in or int(self._timeline.trace.events["kind"][event]) == Kind.RENAME

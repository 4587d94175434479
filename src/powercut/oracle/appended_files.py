"""Which files a program goes on writing in, although it once put them there as a whole.

A log may begin as a file that is renamed into place, or be cut to nothing before it grows again: what is appended later
is nothing between old and new. What tells it from a file that is replaced is that the program writes on in a version
that it had finished (closed, synced or renamed) without cutting it off first.

Before: a timeline. After: for each such file the bytes that it held when it was put in place, as far as they stay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

import numpy as np

from powercut.image.state_image import StateImage
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Kind


def appended_files(timeline: Timeline) -> dict[int, int]:
    """Objects that are written on in place, and how many of their first bytes stay as they were put there."""
    uses = _Uses(timeline)
    return {obj: stays for obj in uses.written if (stays := uses.stays(obj)) is not None}


class _Uses:
    """What happened to each file, by events in order."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.written: dict[int, list[tuple[int, int]]] = defaultdict(list)  # file -> (event, first byte) of its writes
        self._emptied: dict[int, list[int]] = defaultdict(list)
        self._finished: dict[int, list[int]] = defaultdict(list)
        self._put_in_place: dict[int, list[int]] = defaultdict(list)
        self._collect()

    def _collect(self) -> None:
        updates, happened = self._timeline.updates, self._timeline.trace.events["kind"]
        for event, obj in sorted(self._timeline.subjects.items()):
            if self._timeline.tree.things[obj].kind is ObjectKind.FILE:
                self._finished[obj].append(event)
                if int(happened[event]) == Kind.RENAME:
                    self._put_in_place[obj].append(event)
        kinds, files = np.frombuffer(updates.kind, np.int8), np.frombuffer(updates.obj, np.int32)
        for update in np.flatnonzero(
            (kinds == UpdateKind.CUT) & (np.frombuffer(updates.start, np.int64) == 0)
        ).tolist():
            self._emptied[updates.obj[update]].append(updates.event[update])
        concerned = [*self._emptied, *self._put_in_place]
        for update in np.flatnonzero((kinds == UpdateKind.DATA) & np.isin(files, concerned)).tolist():
            self.written[updates.obj[update]].append((updates.event[update], updates.start[update]))

    def stays(self, obj: int) -> int | None:
        """How many of the first bytes stay; None if the file is not written on in place."""
        if any(self._grows_after(obj, event) for event in self._emptied[obj]):
            return 0
        renames = [event for event in self._put_in_place[obj] if self._writes_before_cut(obj, event)]
        if not renames:
            return None
        put = renames[-1]
        size = StateImage(self._timeline, State(2 * put, Base.ISSUED, frozenset())).size(obj)
        changed = any(event > put and start < size for event, start in self.written[obj])
        return 0 if changed or any(event > put for event in self._emptied[obj]) else size

    def _grows_after(self, obj: int, cut: int) -> bool:
        """Whether a file that was cut to nothing was written on after a version of it was finished."""
        finished = self._finished[obj]
        at = bisect_right(finished, cut)
        return at < len(finished) and bool(self._writes_before_cut(obj, finished[at], cut))

    def _writes_before_cut(self, obj: int, since: int, cut: int | None = None) -> list[int]:
        """The writes between an event and the next time that the file is emptied, if it was not since `cut`."""
        emptied = self._emptied[obj]
        after = bisect_right(emptied, since if cut is None else cut)
        end = emptied[after] if after < len(emptied) else self._timeline.end
        return [event for event, _ in self.written[obj] if since < event < end]

"""The image of one crash state, computed from the snapshot and the surviving updates, on demand.

A name stands for what the last surviving change of that name says. A block holds what the surviving writes to it left,
in program order, on top of the snapshot, cut and zeroed by the surviving truncates and holes. Where a size survived
and the data did not, the model says what shows. Content and sizes are computed in C (native/engine/contents.c).
"""

from __future__ import annotations

from collections.abc import Mapping

from powercut.states.objects import Changes, ObjectKind
from powercut.states.state import State
from powercut.states.timeline import Timeline


class StateImage:
    """The content of the data folder in one state.

    Attributes:
        survivors: the updates of the state, in C.
    """

    def __init__(self, timeline: Timeline, state: State) -> None:
        self._timeline = timeline
        self._index = timeline.index
        self._updates = timeline.updates
        self._tree = timeline.tree
        self.state = state
        self.survivors = timeline.survivors(state)
        self.survives = self.survivors.survives  # whether an update is part of this state

    def entry(self, folder: int, name: bytes) -> int | None:
        """The object a name stands for, or None."""
        for update, value in reversed(self._index.names.get((folder, name), ())):
            if self.survives(update):
                return value if value >= 0 else None
        return self._tree.base.get(folder, {}).get(name)

    def entries(self, folder: int) -> Mapping[bytes, int]:
        """All names in a folder and the objects they stand for."""
        found = dict(self._tree.base.get(folder, {}))
        for name in self._index.names_in.get(folder, ()):
            obj = self.entry(folder, name)
            if obj is None:
                found.pop(name, None)
            else:
                found[name] = obj
        return found

    def names_of(self, obj: int) -> list[tuple[int, bytes]]:
        """All (folder, name) that stand for an object."""
        return [place for place in self._index.places_of(obj) if self.entry(*place) == obj]

    def kind(self, obj: int) -> ObjectKind:
        """What the object is."""
        return self._tree.things[obj].kind

    def target(self, link: int) -> bytes:
        """Where a symbolic link points."""
        return self._tree.things[link].target

    def mode(self, obj: int) -> int:
        """Permission bits."""
        for update in reversed(self._index.modes.get(obj, ())):
            if self.survives(update):
                return self._updates.start[update]
        return self._tree.things[obj].mode

    def owner(self, obj: int) -> tuple[int, int]:
        """User and group."""
        return self._tree.things[obj].owner

    def xattrs(self, obj: int) -> Mapping[bytes, bytes]:
        """Extended attributes."""
        found: dict[bytes, bytes] = {}
        for update in self._index.xattrs.get(obj, ()):
            if self.survives(update):
                name = self._updates.names[self._updates.start[update]]
                if self._updates.data[update] < 0:
                    found.pop(name, None)
                else:
                    found[name] = self._timeline.trace.blob(self._updates.data[update], self._updates.length[update])
        return found

    def size(self, file: int) -> int:
        """The length of a file: the last surviving truncate, grown by the surviving sizes after it."""
        return self.survivors.size(file)

    def read(self, file: int, offset: int, length: int) -> bytes:
        """Content of a file, cut off at its end."""
        return self.survivors.read(file, offset, length)

    def data_from(self, file: int, offset: int) -> int:
        """The first offset, from one on, at which there may be anything but zeros."""
        return self._index.history.data_from(file, offset)

    def patch(self, fd: int, file: int, blocks: set[int], end: int) -> None:
        """Write some blocks of a file, none beyond `end`."""
        self.survivors.patch(fd, file, blocks, end)

    def fill(self, fd: int, file: int, start: int, end: int) -> int:
        """Write what is not zero into a range that reads as zeros; the end of the last byte written."""
        return self.survivors.fill(fd, file, start, end)


class TouchedBelow:
    """What a trace has of the user's folder: `powercut.image.image.Below`."""

    def __init__(self, timeline: Timeline) -> None:
        self._tree = timeline.tree
        self.hidden = [name for name in timeline.trace.meta.get("hidden", b"").split(b"\0") if name]

    def names(self, folder: int) -> Mapping[bytes, int]:
        """The names in a folder that the program touched, and what they stood for before."""
        return self._tree.base.get(folder, {})

    def is_open(self, obj: int) -> bool:
        """Whether something is a folder of the user's that may hold more."""
        return self._tree.things[obj].is_open


class StateImages:
    """The images of the states of one timeline, and what the program had told the outside by then."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.acked = timeline.acked
        self.sent = timeline.sent
        self.changes = timeline.changes

    @property
    def below(self) -> TouchedBelow | None:
        """What the images need below them; None if they are all of the folder."""
        return None if self.timeline.trace.rest is None else TouchedBelow(self.timeline)

    def image(self, state: State) -> StateImage:
        """What the data folder holds in a state."""
        return StateImage(self.timeline, state)

    def changes_from(self, other: StateImages, before: State, after: State) -> Changes:
        """Where two images may differ, if `before` is a state of another timeline of the same trace."""
        return self.timeline.changes_from(other.timeline, before, after)


def files_of(image: StateImage) -> dict[bytes, int]:
    """Everything in an image, by its path."""
    found: dict[bytes, int] = {}
    waiting = [(0, b"")]
    while waiting:
        folder, prefix = waiting.pop()
        for name, obj in image.entries(folder).items():
            found[prefix + name] = obj
            if image.kind(obj) is ObjectKind.FOLDER:
                waiting.append((obj, prefix + name + b"/"))
    return found

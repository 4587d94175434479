"""What powercut's model says of a workload: whether a state that a kernel left is possible at a moment."""

from __future__ import annotations

import os
from pathlib import Path

from powercut.image.image import ObjectKind
from powercut.model.filesystem import FileSystem
from powercut.states.lattice import Lattice
from powercut.states.timeline import Timeline
from tests.kernel.calls import Story

Image = frozenset
MOST_STATES = 20_000


def read_folder(folder: Path) -> Image:
    """What a folder holds."""
    found: dict[str, tuple] = {}

    def walk(path: str, prefix: str) -> None:
        for entry in os.scandir(path):
            name = prefix + entry.name
            if entry.is_symlink():
                found[name] = ("link", os.readlink(entry.path))
                continue
            mode, attributes = entry.stat().st_mode & 0o7777, _attributes(entry.path)
            if entry.is_dir():
                found[name] = ("dir", mode, attributes)
                walk(entry.path, name + "/")
            else:
                with open(entry.path, "rb") as file:
                    found[name] = ("file", mode, attributes, file.read())

    walk(str(folder), "")
    found["."] = ("dir", os.stat(folder).st_mode & 0o7777, _attributes(str(folder)))
    return frozenset(found.items())


def _attributes(path: str) -> tuple:
    names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
    return tuple(sorted((name, os.getxattr(path, name)) for name in names))


def image_of(timeline: Timeline, state) -> Image:
    image, found = timeline.image(state), {}

    def attributes(obj: int) -> tuple:
        return tuple(sorted((name.decode(), value) for name, value in image.xattrs(obj).items()))

    def walk(folder: int, prefix: str) -> None:
        for name, obj in image.entries(folder).items():
            path, kind = prefix + name.decode(), image.kind(obj)
            if kind is ObjectKind.SYMLINK:
                found[path] = ("link", image.target(obj).decode())
            elif kind is ObjectKind.FOLDER:
                found[path] = ("dir", image.mode(obj), attributes(obj))
                walk(obj, path + "/")
            else:
                found[path] = ("file", image.mode(obj), attributes(obj), image.read(obj, 0, 1 << 30))

    walk(0, "")
    found["."] = ("dir", image.mode(0), attributes(0))
    return frozenset(found.items())


class Model:
    """One row's view of one workload."""

    def __init__(self, story: Story, row: FileSystem) -> None:
        self.timeline = Timeline(story.trace(), row)
        assert not self.timeline.notes, self.timeline.notes
        self._images: dict[tuple[int, int], set[Image] | None] = {}

    def possible(self, image: Image, time: int) -> bool | None:
        """Whether a crash at a time may leave an image; None if there are too many states to tell."""
        key = (self.timeline.issued(time), self.timeline.count_pending(time))
        if key not in self._images:
            lattice = Lattice(self.timeline, time)
            count = lattice.count(200_000)
            few = count is not None and count <= MOST_STATES
            self._images[key] = {image_of(self.timeline, s) for s in lattice.states()} if few else None
        images = self._images[key]
        return None if images is None else image in images

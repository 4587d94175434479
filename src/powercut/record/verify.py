"""Verifying a recording: replayed without a crash, it must give the bytes that the program left.

Before: a trace, and the private copy in which the program ran, still as it was left. After: the paths at which the two
differ. Each is a change that the tracer did not see (a store through a mapping, a call that is not followed), so crash
states of these files cannot be trusted. This runs after every recording: it is the tool's own witness.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from powercut.image.image import Image
from powercut.image.state_image import StateImage
from powercut.model.filesystem import ONE_ROW
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace

MOST_BYTES = 256 << 20  # compared at most; a larger folder is compared in part
_PIECE = 1 << 20


def unexplained(trace: Trace, folder: Path) -> list[str]:
    """Paths, relative to the folder, that hold something else than the recording says."""
    timeline = Timeline(trace, ONE_ROW)
    return sorted(
        _Comparison(StateImage(timeline, State(timeline.end, Base.ISSUED, frozenset()))).differing(0, folder, "")
    )


class _Comparison:
    """Compares an image with a folder, up to a number of bytes."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._left = MOST_BYTES

    def differing(self, number: int, folder: Path, prefix: str) -> Iterator[str]:
        """Paths at which a folder of the image and one on disk differ."""
        expected = {os.fsdecode(name): obj for name, obj in self._image.entries(number).items()}
        found = {path.name: path for path in folder.iterdir()}
        for name in expected.keys() | found.keys():
            obj, path = expected.get(name), found.get(name)
            if obj is None or path is None:
                if not self._is_special(obj, path):
                    yield prefix + name
            elif self._image.kind(obj) is ObjectKind.FOLDER and path.is_dir() and not path.is_symlink():
                yield from self.differing(obj, path, f"{prefix}{name}/")
            elif not self._same(obj, path):
                yield prefix + name

    def _is_special(self, obj: int | None, path: Path | None) -> bool:
        """Fifos, sockets and devices are not built, so they count on neither side."""
        if obj is not None:
            return self._image.kind(obj) is ObjectKind.OTHER
        return path is not None and not (path.is_symlink() or path.is_file() or path.is_dir())

    def _same(self, obj: int, path: Path) -> bool:
        kind = self._image.kind(obj)
        if kind is ObjectKind.SYMLINK:
            return path.is_symlink() and os.fsencode(path.readlink()) == self._image.target(obj)
        if kind is not ObjectKind.FILE:
            return kind is ObjectKind.OTHER
        return path.is_file() and not path.is_symlink() and self._same_content(obj, path)

    def _same_content(self, file: int, path: Path) -> bool:
        size = path.stat().st_size
        if size != self._image.size(file):
            return False
        with open(path, "rb") as opened:
            for offset in range(0, min(size, self._left), _PIECE):
                self._left -= _PIECE
                if opened.read(_PIECE) != self._image.read(file, offset, _PIECE):
                    return False
        return True

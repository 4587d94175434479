"""Verifying a recording: replayed without a crash, it must give the bytes that the program left.

Before: a trace, and the private copy in which the program ran, still as it was left. After: the paths at which the two
differ. Each is a change that the tracer did not see (a store through a mapping, a call that is not followed), so crash
states of these files cannot be trusted. This runs after every recording: it is the tool's own witness.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.image.ignored import is_made_anew, leaves_out
from powercut.image.image import Image
from powercut.image.state_image import StateImage
from powercut.model.filesystem import ONE_ROW
from powercut.record.private_layers import PrivateLayers
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace

MOST_BYTES = 256 << 20  # compared at most; a larger folder is compared in part
_PIECE = 1 << 20
_TRIES, _NAP = 100, 0.01  # until layers that were in use can be shown again


def unexplained(trace: Trace, folder: Path, ignore: Sequence[str] = ()) -> list[str]:
    """Paths, relative to the folder, that hold something else than the recording says; not of what is ignored."""
    timeline = Timeline(trace, ONE_ROW)
    image = StateImage(timeline, State(timeline.end, Base.ISSUED, frozenset()))
    found = (path for path in _Comparison(image).differing(0, folder, "") if not leaves_out(ignore, path))
    return sorted(path for path in found if not is_made_anew(os.fsencode(path)))


def unexplained_in_layers(trace: Trace, layers: PrivateLayers) -> list[str]:
    """The same for a program that ran in layers, which are shown again to a child of ours."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            below = os.open(layers.survey.folder, os.O_PATH | os.O_DIRECTORY)
            _enter(layers)
            found = _in_view(trace, layers, Path(f"/proc/self/fd/{below}"))
            with os.fdopen(writing, "w") as answer:
                json.dump(found, answer)
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if not text:
        raise EnvironmentFailure("recording-failed", "cannot compare the recording with what the program left.")
    paths: list[str] = json.loads(text)
    return paths


def _enter(layers: PrivateLayers) -> None:
    """Go into the layers; the kernel may not yet be done with the view of the program that has ended."""
    for _ in range(_TRIES):
        with suppress(OSError):
            layers.enter()
            return
        time.sleep(_NAP)
    layers.enter()


def _in_view(trace: Trace, layers: PrivateLayers, below: Path) -> list[str]:
    timeline = Timeline(trace, ONE_ROW)
    image = StateImage(timeline, State(timeline.end, Base.ISSUED, frozenset()))
    found = _LayersComparison(image, layers, below).differing(0, layers.survey.folder, "")
    return sorted(path for path in found if not is_made_anew(os.fsencode(path)))


class _Comparison:
    """Compares an image with a folder, up to a number of bytes."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._left = MOST_BYTES

    def differing(self, number: int, folder: Path, prefix: str) -> Iterator[str]:
        """Paths at which a folder of the image and one on disk differ."""
        expected = {os.fsdecode(name): obj for name, obj in self._image.entries(number).items()}
        found = self._found(folder, prefix)
        for name in expected.keys() | found.keys():
            obj, path = expected.get(name), found.get(name)
            if obj is None or path is None:
                if not self._is_special(obj, path):
                    yield prefix + name
            elif self._image.kind(obj) is ObjectKind.FOLDER and path.is_dir() and not path.is_symlink():
                yield from self.differing(obj, path, f"{prefix}{name}/")
            elif not self._same(obj, path):
                yield prefix + name

    def _found(self, folder: Path, prefix: str) -> dict[str, Path]:
        """What is in a folder on disk, as far as the image should hold it."""
        return {path.name: path for path in folder.iterdir()}

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


class _LayersComparison(_Comparison):
    """The same where the image holds only what the program touched."""

    def __init__(self, image: Image, layers: PrivateLayers, below: Path) -> None:
        """`below`: the user's folder, where the layers do not hide it."""
        super().__init__(image)
        self._layers = layers
        self._below = below

    def _found(self, folder: Path, prefix: str) -> dict[str, Path]:
        """What was changed, and what the image has; a change of anything else was not seen by the tracer."""
        above = self._layers.path / prefix
        changed = {path.name for path in above.iterdir()} if above.is_dir() else set()
        number = self._number_of(prefix)
        known = {os.fsdecode(name) for name in self._image.entries(number)}
        found = {name: folder / name for name in known if os.path.lexists(folder / name)}
        for name in changed - known:
            if self._is_other(folder / name, f"{prefix}{name}"):
                found[name] = folder / name
        return found

    def _number_of(self, prefix: str) -> int:
        number = 0
        for name in prefix.split("/")[:-1]:
            number = self._image.entries(number)[os.fsencode(name)]
        return number

    def _is_other(self, path: Path, name: str) -> bool:
        """Whether something that is in no event is other than it was; a file that was only opened is not."""
        if self._layers.survey.leaves_out(name):
            return False
        before = self._below / name
        if not os.path.lexists(path) or not os.path.lexists(before):
            return os.path.lexists(path) != os.path.lexists(before)
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            return False
        if path.is_dir():
            above = self._layers.path / name
            return any(self._is_other(path / inside.name, f"{name}/{inside.name}") for inside in above.iterdir())
        return path.stat().st_size != before.stat().st_size or not _have_same_bytes(path, before)


def _have_same_bytes(one: Path, other: Path) -> bool:
    with open(one, "rb") as mine, open(other, "rb") as theirs:
        while data := mine.read(_PIECE):
            if data != theirs.read(_PIECE):
                return False
    return True

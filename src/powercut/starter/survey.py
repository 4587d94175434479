"""What one run of a program shows: which files it changes, what they contain, whether it syncs, what it prints.

Before: a trace. After: facts from which the first settings and the first check are written. Nothing here is a verdict.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from powercut.errors import EnvironmentFailure
from powercut.image.state_image import StateImage, files_of
from powercut.model.filesystem import ONE_ROW
from powercut.oracle.builtin import BuiltinOracle
from powercut.quick_dataclass import dataclass
from powercut.record.tracers import mapped_files
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

_SYNCS = (Kind.FSYNC, Kind.FDATASYNC, Kind.SYNC, Kind.SYNCFS, Kind.MSYNC, Kind.FENCE)
_SQLITE = b"SQLite format 3\0"
_LARGEST_JSON = 1 << 20  # bytes; a larger file is not parsed to learn what it is


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that the program changed or created.

    Attributes:
        path: in the data folder.
        form: "json", "sqlite" or "bytes".
        before: its size before the run; None if the program created it.
        whole: the program replaces or rewrites it, so that the built-in check requires its old or its new content.
    """

    path: str
    size: int
    form: str
    before: int | None = None
    whole: bool = False

    @property
    def never_empty(self) -> bool:
        """Whether it holds something in its old and its new version: then the built-in check refuses an empty one."""
        return self.whole and self.size > 0 and self.before != 0


@dataclass(frozen=True, slots=True)
class Survey:
    """The facts.

    Attributes:
        folder: what should be the data folder, relative to the one that was recorded; "." for that one.
        files: in the order of their paths, relative to `folder`.
        syncs: how many calls and fences make something durable.
        said: the last complete line that the program printed; empty if there was none.
        maps: whether it maps files of the folder for writing.
    """

    folder: str
    files: list[Changed]
    syncs: int
    said: str
    maps: bool


def survey(trace: Trace) -> Survey:
    """Look at a recorded program."""
    timeline = Timeline(trace, ONE_ROW)
    image = StateImage(timeline, State(timeline.end, Base.ISSUED, frozenset()))
    start = StateImage(timeline, State(0, Base.ISSUED, frozenset()))
    before = {path: start.size(obj) for path, obj in files_of(start).items()}
    whole = BuiltinOracle(timeline).whole_names()
    touched = set(timeline.updates.obj)
    files = [
        _looked_at(path, image, obj, before.get(path), path in whole)
        for path, obj in sorted(files_of(image).items())
        if obj in touched and image.kind(obj) is ObjectKind.FILE
    ]
    if not len(timeline.updates):
        raise EnvironmentFailure(
            "nothing-written",
            f"the program changed nothing in {trace.folder}.",
            "Is --dir the folder that it writes to?",
        )
    folder = _common_folder([file.path for file in files], Path(trace.folder))
    within = [replace(file, path=str(PurePosixPath(file.path).relative_to(folder))) for file in files]
    syncs = sum(len(trace.of_kind(kind)) for kind in _SYNCS)
    return Survey(folder, within, syncs, _last_line(timeline.acked(timeline.end)), bool(mapped_files(trace)))


def _common_folder(paths: list[str], root: Path) -> str:
    """The one folder, there before the program ran, that holds all of some files: a step down from the recorded one."""
    first = {PurePosixPath(path).parts[0] for path in paths if "/" in path}
    if len(first) == 1 and all("/" in path for path in paths) and (root / next(iter(first))).is_dir():
        return next(iter(first))
    return "."


def _looked_at(path: bytes, image: StateImage, obj: int, before: int | None, whole: bool) -> Changed:
    size = image.size(obj)
    return Changed(path.decode("utf-8", "surrogateescape"), size, _form(image, obj, size), before, whole)


def _form(image: StateImage, obj: int, size: int) -> str:
    if image.read(obj, 0, len(_SQLITE)) == _SQLITE:
        return "sqlite"
    if 0 < size <= _LARGEST_JSON:
        with suppress(ValueError, RecursionError):
            if isinstance(json.loads(image.read(obj, 0, size)), dict | list):  # a number alone is any text
                return "json"
    return "bytes"


def _last_line(printed: bytes) -> str:
    """The last complete line; one without its end does not count."""
    lines = [line for line in printed.splitlines(keepends=True) if line.endswith(b"\n") and line.strip()]
    return lines[-1].decode("utf-8", "replace").rstrip("\n") if lines else ""

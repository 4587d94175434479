"""What the data folder held of all that a program touched, added to its trace: the snapshot of a folder below layers.

Before: a trace of a program that ran in layers over the folder, without a snapshot, and the survey of the folder from
before the program. After: the trace has a snapshot of what its events are about: those files with their bytes, all
their names, and the folders above. A folder that was moved or removed is there with all that lay in it; of any other
one the trace says that it holds more. What that was, the word `rest` tells as far as changes of it can be found later.
Where next to nothing was not touched, the trace has all of the folder instead: images without layers cost less.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from powercut.errors import EnvironmentFailure
from powercut.record.private_layers import PrivateLayers, is_little
from powercut.record.relabel import Appendix
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

_PIECE = 16 << 20  # bytes of a file in one event
_OF_FILES = range(Kind.CREATE, Kind.OUTPUT)  # kinds of events that are about a file or folder
_MOVES = (Kind.RENAME, Kind.RMDIR)


def add_touched(path: Path, layers: PrivateLayers) -> Trace:
    """Complete a trace; the trace as it is now."""
    touched = _Touched(Trace.open(path), layers)
    with Appendix(path) as appendix:
        for row in touched.rows:
            _add(appendix, layers, row, is_open=row not in touched.closed)
        if not touched.is_all:
            appendix.meta("rest", layers.survey.packed())
            appendix.meta("hidden", b"\0".join(layers.survey.hidden))
    return Trace.open(path)


class _Touched:
    """Rows of the survey that a trace is about.

    Attributes:
        rows: in order, folders before what lies in them.
        closed: folders that were moved or removed, and all in them.
        is_all: whether that is all of the folder.
    """

    def __init__(self, trace: Trace, layers: PrivateLayers) -> None:
        self._survey = survey = layers.survey
        numbers = {layers.number_below(inode) for inode in _inodes(trace)}
        moved = {layers.number_below(inode) for inode in _moved(trace)}
        folders = survey.is_folder
        self.closed: Collection[int] = set(survey.rows_below(row for row in survey.rows_of(moved) if folders[row]))
        found = {0, *survey.rows_of(numbers), *self._rows_of_paths(trace), *self.closed}
        above = survey.rows["folder"]
        for row in list(found):
            while (row := int(above[row])) >= 0 and row not in found:
                found.add(row)
        self.is_all = not survey.left_out and not survey.foreign and is_little(*survey.rest_of(found))
        if self.is_all:
            found = self.closed = set(range(len(survey.rows)))
        self.rows = sorted(found)

    def _rows_of_paths(self, trace: Trace) -> Iterator[int]:
        """Folders in which names were made."""
        events = trace.written
        named = events[np.isin(events["kind"], _OF_FILES)]
        paths = {trace.string(int(number)) for field in ("path", "path2") for number in named[field]}
        wanted = {path.rpartition(b"/")[0] for path in paths}
        if wanted - {b""}:
            folders = np.flatnonzero(self._survey.is_folder).tolist()
            yield from (row for row in folders if self._survey.path(row) in wanted)


def _inodes(trace: Trace) -> set[int]:
    """Every inode that the events of a trace are about."""
    events = trace.written
    of_files = events[np.isin(events["kind"], _OF_FILES)]
    found = set(of_files["inode"].tolist()) | set(events["extra"][events["kind"] == Kind.RENAME].tolist())
    for kind in (Kind.STORE, Kind.FLUSH, Kind.UNMAP):
        found |= trace.inodes(kind)
    return found


def _moved(trace: Trace) -> set[int]:
    """Inodes that lost a name or got one, by moves; those of folders among them make the folders closed."""
    events = trace.written[np.isin(trace.written["kind"], _MOVES)]
    renames = events[events["kind"] == Kind.RENAME]
    return set(events["inode"].tolist()) | set(renames["extra"].tolist())


def _add(appendix: Appendix, layers: PrivateLayers, row: int, *, is_open: bool) -> None:
    """Add one thing to the snapshot."""
    survey = layers.survey
    facts, path = survey.rows[row], survey.path(row)
    mode, owner = int(facts["mode"]), int(facts["uid"]) | int(facts["gid"]) << 32
    inode = layers.root_number if row == 0 else layers.number_seen(int(facts["inode"]))
    here = {"inode": inode, "path": appendix.string(path), "extra": mode, "offset": owner}
    source = survey.folder / os.fsdecode(path)
    if stat.S_ISDIR(mode):
        appendix.event(kind=Kind.SNAP_DIR, length=int(is_open), **here)
    elif stat.S_ISLNK(mode):
        target = os.fsencode(source.readlink())
        here |= {"extra": 0, "offset": 0, "data": appendix.blob(target)}
        appendix.event(kind=Kind.SNAP_SYMLINK, length=len(target), **here)
    elif stat.S_ISREG(mode):
        size = int(facts["size"])
        appendix.event(kind=Kind.SNAP_FILE, length=size, **here)
        if row == survey.rows_of([int(facts["inode"])])[0]:  # its bytes once, whatever its names
            _add_content(appendix, source, inode, size, int(facts["mtime"]))
    else:
        appendix.event(kind=Kind.SNAP_OTHER, **here)


def _add_content(appendix: Appendix, source: Path, inode: int, size: int, mtime: int) -> None:
    try:
        file = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(source, error.strerror or "") from error
    try:
        status = os.fstat(file)
        if (status.st_size, status.st_mtime_ns) != (size, mtime):
            raise _unreadable(source, "it changed while the program ran")
        for start, end in _data(file, size):
            for offset in range(start, end, _PIECE):
                data = os.pread(file, min(_PIECE, end - offset), offset)
                where = appendix.blob(data)
                appendix.event(kind=Kind.SNAP_DATA, inode=inode, offset=offset, length=len(data), data=where)
    finally:
        os.close(file)


def _data(file: int, size: int) -> Iterator[tuple[int, int]]:
    """The ranges of a file that are no holes."""
    at = 0
    while at < size:
        try:
            start = os.lseek(file, at, os.SEEK_DATA)
            at = min(os.lseek(file, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # nothing but a hole up to the end
            if error.errno != errno.EINVAL:
                raise
            start, at = at, size  # a file system that knows no holes
        yield start, at


def _unreadable(source: Path, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "copy-failed",
        f"cannot copy {source}: {why}.",
        "powercut must be able to read it, and nobody may change it meanwhile.",
    )

"""A survey of the data folder: what it holds, from outside, without reading any file.

Before: the folder, and patterns of names that are no data. After: a row for everything else in it; where an inode is,
and what each folder looks like (names, kinds, modes, sizes and times of change of what lies in it), so that a later
survey tells which folders have changed since. A hundred thousand files take less than half a second.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_128_digest

from powercut import _engine
from powercut.arrays import distinct
from powercut.image.ignored import leaves_out

MOST_FOLDERS = 2000  # whose looks are kept one by one; deeper ones count for the folder above them
# Mirrors native/engine/survey.c.
ROW = np.dtype(
    [
        ("inode", "<u8"),
        ("size", "<i8"),
        ("mtime", "<i8"),
        ("looks", "<u8"),
        ("mode", "<u4"),
        ("links", "<u4"),
        ("uid", "<u4"),
        ("gid", "<u4"),
        ("path", "<u8"),
        ("length", "<u4"),
        ("folder", "<i4"),
    ]
)
_FORMAT = 0o170000  # of a mode: what kind of thing it is
_MOST_LOOKS = 64 << 20  # bytes that saved looks may unpack to


class Survey:
    """What a folder held at one moment.

    Attributes:
        rows: one for each thing, the folder itself first, each folder before what lies in it.
        left_out: how many things fit the patterns; `first_left_out` names one of them.
        foreign: how many other file systems are mounted below.
    """

    def __init__(self, folder: Path, patterns: Sequence[str] = (), skip: Iterable[Path] = ()) -> None:
        """`skip`: folders and files below that do not count either, and are not spoken of."""
        self.folder = folder
        self._patterns = tuple(patterns)
        self._skip = [os.path.relpath(path, folder) for path in skip if path.is_relative_to(folder)]
        words = (*map(os.fsencode, patterns), *(b"/" + os.fsencode(path) for path in self._skip))
        rows, self._paths, self.left_out, self.foreign, first = _engine.survey(folder, words)
        self.rows: npt.NDArray[Any] = np.frombuffer(rows, ROW)
        self.first_left_out = os.fsdecode(first)

    @property
    def hidden(self) -> list[bytes]:
        """Names in the folder itself that neither programs nor checks shall see."""
        return [os.fsencode(path) for path in self._skip if "/" not in path]

    def leaves_out(self, path: str) -> bool:
        """Whether the patterns leave a path out, or a folder above it."""
        skipped = any(path == place or path.startswith(place + "/") for place in self._skip)
        return skipped or leaves_out(self._patterns, path)

    def path(self, row: int) -> bytes:
        """Where something is, from the folder."""
        start = int(self.rows["path"][row])
        return self._paths[start : start + int(self.rows["length"][row])]

    @property
    def is_folder(self) -> npt.NDArray[np.bool_]:
        """Which rows are folders."""
        found: npt.NDArray[np.bool_] = self.rows["mode"] & _FORMAT == stat.S_IFDIR
        return found

    @property
    def is_file(self) -> npt.NDArray[np.bool_]:
        """Which rows are regular files."""
        found: npt.NDArray[np.bool_] = self.rows["mode"] & _FORMAT == stat.S_IFREG
        return found

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return int(self.rows["size"][self.is_file].sum())

    def rest_of(self, rows: Collection[int]) -> tuple[int, int]:
        """How many things there are besides some rows, and their bytes."""
        other = np.ones(len(self.rows), bool)
        other[list(rows)] = False
        return int(other.sum()), int(self.rows["size"][other & self.is_file].sum())

    @property
    def has_linked_files(self) -> bool:
        """Whether a file has several names in the folder."""
        several = self.rows["inode"][self.is_file & (self.rows["links"] > 1)]
        return len(distinct(several)) < len(several)

    def rows_of(self, inodes: Iterable[int]) -> list[int]:
        """Where some inodes are: all their names, folders before what lies in them."""
        wanted = np.array(sorted(inode for inode in inodes if inode > 0), np.uint64)
        return [int(row) for row in np.flatnonzero(np.isin(self.rows["inode"], wanted))]

    def rows_below(self, folders: Iterable[int]) -> list[int]:
        """All that lies in some folders, at any depth."""
        inside = np.zeros(len(self.rows), bool)
        inside[list(folders)] = True
        for row, above in enumerate(self.rows["folder"].tolist()):
            if above >= 0 and inside[above]:
                inside[row] = True
        return [int(row) for row in np.flatnonzero(inside)]

    @cached_property
    def looks(self) -> dict[str, int]:
        """What stands for what lies in each folder. Deep folders of a large tree count for one above them."""
        rows = self.rows
        sums = np.zeros(len(rows), np.uint64)
        inside = rows["folder"] >= 0
        np.bitwise_xor.at(sums, rows["folder"][inside], rows["looks"][inside])
        folders = np.flatnonzero(self.is_folder)
        depths = {int(row): self.path(int(row)).count(b"/") for row in folders}
        limit = max(depths.values(), default=0)
        while limit > 0 and sum(depth <= limit for depth in depths.values()) > MOST_FOLDERS:
            limit -= 1
        found: dict[str, int] = {}
        for row in folders.tolist():
            path = os.fsdecode(b"/".join(self.path(row).split(b"/")[: limit + 1]))
            found[path] = found.get(path, 0) ^ int(sums[row])
        return found

    def packed(self) -> bytes:
        """The looks of all folders, for a trace."""
        looks = {path: f"{value:x}" for path, value in self.looks.items()}
        return zlib.compress(msgspec.json.encode(_Packed(looks, list(self._patterns), self._skip)))


def looks_now(folder: Path, packed: bytes) -> bytes:
    """What stands for all that lies in a folder now, as far as a survey that was packed spoke of it."""
    try:
        values = _unpacked(packed)
        survey = Survey(folder, values.patterns, [folder / path for path in values.skip])
    except (OSError, ValueError):
        return b"unknown"
    return xxh3_128_digest(json.dumps(sorted(survey.looks.items())).encode())


def changed_since(folder: Path, packed: bytes) -> list[str] | None:
    """The folders below one in which something changed since its looks were packed; None if that cannot be told."""
    try:
        values = _unpacked(packed)
        survey = Survey(folder, values.patterns, [folder / path for path in values.skip])
    except (OSError, ValueError):
        return None
    now = {path: f"{value:x}" for path, value in survey.looks.items()}
    return sorted(path for path in values.looks.keys() | now.keys() if values.looks.get(path) != now.get(path))


class _Packed(msgspec.Struct, forbid_unknown_fields=True):
    looks: dict[str, str]
    patterns: list[str]
    skip: list[str]


def _unpacked(packed: bytes) -> _Packed:
    """What a trace says, which is not trusted; `ValueError` if it is broken."""
    try:
        text = zlib.decompressobj().decompress(packed, _MOST_LOOKS)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    values = msgspec.json.decode(text, type=_Packed)
    if any(path.startswith("/") or ".." in path.split("/") for path in values.skip):
        raise ValueError("it leads out of the folder")
    return values

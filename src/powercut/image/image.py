"""The image of a crash state: what the data folder would hold, read without building it.

Objects (files, folders, symbolic links) are numbered by the timeline; object 0 is the data folder itself. An image
answers questions about one state; ``Changes`` says where two images may differ, so that a folder on disk follows from
state to state at the cost of the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

BLOCK = 4096  # the unit in which images are compared and patched


class ObjectKind(IntEnum):
    """What an object of the data folder is."""

    FILE = 1
    FOLDER = 2
    SYMLINK = 3
    OTHER = 4  # fifo, socket, device: named, never built


class Image(Protocol):
    """The content of the data folder in one crash state."""

    def entries(self, folder: int) -> Mapping[bytes, int]:
        """All names in a folder and the objects they stand for."""

    def entry(self, folder: int, name: bytes) -> int | None:
        """The object a name stands for, or None."""

    def names_of(self, obj: int) -> Sequence[tuple[int, bytes]]:
        """All (folder, name) that stand for an object."""

    def kind(self, obj: int) -> ObjectKind:
        """What the object is."""

    def size(self, file: int) -> int:
        """The length of a file."""

    def read(self, file: int, offset: int, length: int) -> bytes:
        """Content of a file, cut off at its end; holes read as zeros."""

    def data_from(self, file: int, offset: int) -> int:
        """The first offset, from one on, at which there may be anything but zeros; beyond the end if there is none."""

    def patch(self, fd: int, file: int, blocks: set[int], end: int) -> None:
        """Write some blocks of a file into an open file, none beyond `end`."""

    def fill(self, fd: int, file: int, start: int, end: int) -> int:
        """Write what is not zero between two offsets into an open file that reads as zeros there; how far that went."""

    def mode(self, obj: int) -> int:
        """Permission bits (st_mode & 0o7777)."""

    def target(self, link: int) -> bytes:
        """Where a symbolic link points."""

    def xattrs(self, obj: int) -> Mapping[bytes, bytes]:
        """Extended attributes."""


@dataclass(slots=True)
class Changes:
    """Where two images may differ. A superset is allowed, an omission is not.

    Attributes:
        entries: (folder, name) pairs whose object may differ.
        blocks: for each file, the indices of the blocks whose bytes may differ; None for the whole file.
        meta: objects whose size, mode or attributes may differ.
    """

    entries: set[tuple[int, bytes]] = field(default_factory=set)
    blocks: dict[int, set[int] | None] = field(default_factory=dict)
    meta: set[int] = field(default_factory=set)

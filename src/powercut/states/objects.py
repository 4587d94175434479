"""The objects of a data folder: what they are, and where two states of it may differ.

Files, folders and symbolic links are numbered by the timeline; object 0 is the data folder itself. `Changes` says where
the images of two states may differ, so that a folder on disk follows from state to state at the cost of the difference.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum

from powercut.quick_dataclass import dataclass

BLOCK = 4096  # the unit in which images are compared and patched


class ObjectKind(IntEnum):
    """What an object of the data folder is."""

    FILE = 1
    FOLDER = 2
    SYMLINK = 3
    OTHER = 4  # fifo, socket, device: named, never built


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

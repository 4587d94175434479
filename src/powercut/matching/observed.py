"""An observed image: what somebody found in a data folder after a power cut.

Before: a folder on disk, or what a test rig read from a device itself. After: a mapping from paths to what is there,
which tells names, kinds, permission bits, content, targets and attributes, and nothing of owners and times. Small files
are held in memory; of large ones only what is asked for is read, holes are not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Protocol

from xxhash import xxh3_128_digest

from powercut.errors import UsageError
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind


class Content(Protocol):
    """The bytes of a file."""

    @property
    def size(self) -> int:
        """How many there are."""

    def read(self, offset: int, length: int) -> bytes:
        """Some of them, cut off at the end."""

    def data_from(self, offset: int) -> int:
        """The first offset, from one on, at which there may be anything but zeros; the size if there is none."""

    @property
    def key(self) -> bytes | None:
        """The same for the same bytes; None if reading them all takes too long to find out."""


class Bytes:
    """Content that is held in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self._data)

    def read(self, offset: int, length: int) -> bytes:
        """Some of them, cut off at the end."""
        return self._data[offset : offset + length]

    def data_from(self, offset: int) -> int:
        """Anything may be anywhere."""
        return min(offset, len(self._data))

    @cached_property
    def key(self) -> bytes | None:
        """A digest."""
        return xxh3_128_digest(self._data)


@dataclass(frozen=True, slots=True)
class Node:
    """What a path stands for in an observed image.

    Attributes:
        kind: file, folder, symbolic link, or anything else.
        mode: permission bits; None if they are not known.
        content: of a file.
        target: of a symbolic link.
        xattrs: extended attributes; None if they are not known. Only those in the namespace `user.` count.
    """

    kind: ObjectKind
    mode: int | None = None
    content: Content = field(default_factory=lambda: Bytes(b""))
    target: bytes = b""
    xattrs: Mapping[bytes, bytes] | None = None


def file_node(data: bytes, mode: int | None = None, xattrs: Mapping[bytes, bytes] | None = None) -> Node:
    """A file that is held in memory."""
    return Node(ObjectKind.FILE, mode, Bytes(data), xattrs=xattrs)


def folder_node(mode: int | None = None, xattrs: Mapping[bytes, bytes] | None = None) -> Node:
    """A folder; what is in it has paths of its own."""
    return Node(ObjectKind.FOLDER, mode, xattrs=xattrs)


def link_node(target: bytes) -> Node:
    """A symbolic link."""
    return Node(ObjectKind.SYMLINK, target=target)


class ObservedImage:
    """Paths, relative to the data folder, and what they stand for.

    Attributes:
        nodes: everything by its path; the empty path is the data folder itself and may be left out.
        title: what to call the image in messages.
    """

    def __init__(self, nodes: Mapping[bytes, Node], title: str = "the image") -> None:
        self.title = title
        self.nodes = dict(nodes)
        root = self.nodes.setdefault(b"", Node(ObjectKind.FOLDER))
        self._names: dict[bytes, list[bytes]] = defaultdict(list)
        if root.kind is not ObjectKind.FOLDER:
            raise self._broken(b"")
        for path in self.nodes:
            if path:
                above, _, name = path.rpartition(b"/")
                parent = self.nodes.get(above)
                if not name or parent is None or parent.kind is not ObjectKind.FOLDER:
                    raise self._broken(path)
                self._names[above].append(name)

    def _broken(self, path: bytes) -> UsageError:
        shown = path.decode("utf-8", "replace")
        return UsageError("bad-image", f"{self.title} contains {shown!r}, but not its folder.")

    def names(self, folder: bytes) -> list[bytes]:
        """The names in a folder."""
        return self._names.get(folder, [])


def join(folder: bytes, name: bytes) -> bytes:
    """The path of a name in a folder."""
    return folder + b"/" + name if folder else name

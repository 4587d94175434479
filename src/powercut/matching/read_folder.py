"""Reading an image from a folder.

Before: the path of a folder that anybody may have made, on any file system. After: an `ObservedImage`, or an error that
says what cannot be read. Links are not followed, special files are not opened, nothing is written. Attributes count
where the folder's file system has any.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH115, PTH116, PTH118, PTH208
from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from powercut.errors import EnvironmentFailure, UsageError
from powercut.matching.observed import Bytes, Content, Node, ObservedImage, join
from powercut.states.objects import ObjectKind

_SMALL = 1 << 20  # files up to this size are read at once
_HELD = 256 << 20  # bytes of small files that are held in memory
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_ATTRIBUTES = (errno.ENOTSUP, errno.EPERM)
_T = TypeVar("_T")


class FileContent:
    """The content of a large file, read when it is asked for."""

    key: bytes | None = None

    def __init__(self, path: bytes, size: int) -> None:
        self._path = path
        self._size = size

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Some of them, cut off at the end."""
        wanted = max(0, min(length, self._size - offset))
        return _opened(self._path, lambda fd: _read_all(fd, self._path, offset, wanted))

    def data_from(self, offset: int) -> int:
        """The first offset from one on that is no hole."""
        return _opened(self._path, lambda fd: self._data_from(fd, offset))

    def _data_from(self, fd: int, offset: int) -> int:
        try:
            return os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            return self._size if error.errno == errno.ENXIO else offset


def read_folder(path: str | Path, is_foreign: Callable[[bytes, bytes], bool] = lambda *_: False) -> ObservedImage:
    """The image that a folder holds, without the names in its folders that are foreign to the question."""
    root = os.fsencode(path)
    try:
        found = os.stat(root)
    except OSError as error:
        raise UsageError("no-image", f"cannot read the folder {path}: {error.strerror}.") from error
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError("no-image", f"{path} is not a folder.", "Pass the data folder as the power cut left it.")
    return ObservedImage(_Reader(root, is_foreign).nodes(found), str(path))


class _Reader:
    def __init__(self, root: bytes, is_foreign: Callable[[bytes, bytes], bool]) -> None:
        self._root = root
        self._is_foreign = is_foreign
        self._held = 0

    def nodes(self, root: os.stat_result) -> dict[bytes, Node]:
        nodes = {b"": self._node(self._root, root)}
        waiting = [b""]
        while waiting:
            folder = waiting.pop()
            for name in self._names(folder):
                inner = join(folder, name)
                path = os.path.join(self._root, inner)
                node = nodes[inner] = self._node(path, _stat(path))
                if node.kind is ObjectKind.FOLDER:
                    waiting.append(inner)
        return nodes

    def _names(self, folder: bytes) -> list[bytes]:
        path = os.path.join(self._root, folder)
        names = sorted(_checked(path, lambda: os.listdir(path)))
        return [name for name in names if not self._is_foreign(folder, name)]

    def _node(self, path: bytes, found: os.stat_result) -> Node:
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            return Node(ObjectKind.SYMLINK, target=_checked(path, lambda: os.readlink(path)))
        if stat.S_ISDIR(found.st_mode):
            return Node(ObjectKind.FOLDER, mode, xattrs=_attributes(path))
        if stat.S_ISREG(found.st_mode):
            return Node(ObjectKind.FILE, mode, self._content(path, found.st_size), xattrs=_attributes(path))
        return Node(ObjectKind.OTHER, mode)

    def _content(self, path: bytes, size: int) -> Content:
        if size > _SMALL or self._held + size > _HELD:
            _opened(path, lambda fd: None)  # that it cannot be read is told now, not in the middle of a search
            return FileContent(path, size)
        self._held += size
        return Bytes(_opened(path, lambda fd: _read_all(fd, path, 0, size)))


def _stat(path: bytes) -> os.stat_result:
    return _checked(path, lambda: os.lstat(path))


def _attributes(path: bytes) -> Mapping[bytes, bytes] | None:
    """Those of the user; None where there are none to be had."""
    try:
        names = [os.fsencode(name) for name in os.listxattr(path, follow_symlinks=False)]
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in names if name.startswith(b"user.")}
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return None
        raise _unreadable(path, error) from error


def _opened(path: bytes, use: Callable[[int], _T]) -> _T:
    fd = _checked(path, lambda: os.open(path, _READ))
    try:
        return _checked(path, lambda: use(fd))
    finally:
        os.close(fd)


def _read_all(fd: int, path: bytes, offset: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length > 0:
        part = os.pread(fd, length, offset)
        if not part:
            raise EnvironmentFailure(
                "image-changed",
                f"{os.fsdecode(path)} became shorter while it was read.",
                "Match a copy of the folder that nothing writes to.",
            )
        parts.append(part)
        offset, length = offset + len(part), length - len(part)
    return b"".join(parts)


def _checked(path: bytes, use: Callable[[], _T]) -> _T:
    try:
        return use()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: bytes, error: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(
        "image-unreadable", f"cannot read {os.fsdecode(path)} of the image: {error.strerror}.", "There is no result."
    )

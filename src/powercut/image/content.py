"""Bringing one object on disk in line with the image: bytes, length, owner, mode, extended attributes.

Before: the node says what the disk holds and where it may differ from the image. After: nothing differs, and the node
says so. Only what may differ is read or written; holes stay holes.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH101
from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress

from xxhash import xxh3_64_intdigest

from powercut.image.disk_index import Node
from powercut.image.image import Image
from powercut.states.objects import BLOCK

COMPARED = 1 << 17  # how much is compared at once, and has one check sum
_NO_XATTRS = (errno.ENOTSUP, errno.EPERM, errno.ENODATA)
_OURS = (b"user.", b"system.posix_acl_")  # attribute names that a check could have set
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


def update_file(path: bytes, obj: int, node: Node, image: Image) -> bool:
    """Bring a file's bytes and length in line; whether the file was opened for it."""
    size = image.size(obj)
    kept = min(node.low, node.size, size)  # bytes before this are on disk, right except for what is noted
    if size == node.size == kept and node.blocks is not None and not node.blocks and not node.doubted:
        return False
    _forget_sums(node, kept)
    fd = _open(path, node)
    try:
        if kept < node.size:
            os.ftruncate(fd, kept)
        if node.doubted or node.blocks is None:
            _compare(fd, obj, image, kept, node.sums)
        elif node.blocks:
            image.patch(fd, obj, node.blocks, kept)
        if kept < size and image.fill(fd, obj, kept, size) < size:
            os.ftruncate(fd, size)
    finally:
        os.close(fd)
    node.size = node.low = size
    node.blocks = set()
    node.doubted = False
    return True


def _forget_sums(node: Node, kept: int) -> None:
    """Drop the sums of pieces that the new image may hold differently."""
    if not node.sums:
        return
    if node.blocks is None:
        node.sums.clear()
        return
    for block in node.blocks:
        node.sums.pop(block * BLOCK // COMPARED, None)
    for piece in [piece for piece in node.sums if (piece + 1) * COMPARED > kept]:
        del node.sums[piece]


def update_attributes(path: bytes, obj: int, node: Node, image: Image, written: bool = True) -> None:
    """Bring owner, mode and extended attributes in line."""
    if node.meta:
        _update_xattrs(path, node, image.xattrs(obj))
        node.meta = False
    owner = image.owner(obj)
    if owner != node.owner:
        with suppress(OSError):  # only root can give files away
            os.chown(path, *owner, follow_symlinks=False)
            written = True  # which clears set-id bits
        node.owner = owner
    mode = image.mode(obj)
    if mode != node.mode or (written and mode & 0o6000):  # writing can clear set-id bits
        os.chmod(path, mode)
        node.mode = mode


def _open(path: bytes, node: Node) -> int:
    try:
        return os.open(path, _WRITE)
    except PermissionError:
        os.chmod(path, 0o600)
        node.mode = 0o600
        return os.open(path, _WRITE)


def _runs(blocks: set[int], limit: int) -> Iterator[tuple[int, int]]:
    """Byte ranges of neighbouring blocks, none beyond the limit."""
    start = end = -1
    for block in sorted(blocks):
        offset = block * BLOCK
        if offset >= limit:
            break
        if offset != end:
            if end > start:
                yield start, end
            start = offset
        end = min(offset + BLOCK, limit)
    if end > start:
        yield start, end


def _compare(fd: int, obj: int, image: Image, end: int, sums: dict[int, int]) -> None:
    """Write the blocks that differ. Pieces whose sum is known and right need no image to compare with."""
    offset = -COMPARED
    while (offset := _next_piece(fd, obj, image, offset + COMPARED)) < end:
        length = min(COMPARED, end - offset)
        found = os.pread(fd, length, offset)
        number = offset // COMPARED
        if sums.get(number) == xxh3_64_intdigest(found):
            continue
        wanted = image.read(obj, offset, length)
        if wanted != found:
            _write_where(fd, wanted, found.ljust(length, b"\0"), offset)
        if length == COMPARED:
            sums[number] = xxh3_64_intdigest(wanted)


def _next_piece(fd: int, obj: int, image: Image, offset: int) -> int:
    """The next piece, from an offset on, in which the disk or the image may hold anything but zeros."""
    try:
        on_disk = os.lseek(fd, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:  # not "nothing but a hole from here on"
            return offset
        on_disk = sys.maxsize
    return min(on_disk, image.data_from(obj, offset)) // COMPARED * COMPARED


def _write_where(fd: int, wanted: bytes, found: bytes, offset: int) -> None:
    """Write the blocks of a piece that differ from what is there, neighbours together."""
    if len(wanted) <= BLOCK:
        if wanted != found[: len(wanted)]:
            _write(fd, wanted, offset)
        return
    blocks = {
        start // BLOCK
        for start in range(0, len(wanted), BLOCK)
        if wanted[start : start + BLOCK] != found[start : min(start + BLOCK, len(wanted))]
    }
    for start, end in _runs(blocks, len(wanted)):
        _write(fd, wanted[start:end], offset + start)


def _write(fd: int, data: bytes, offset: int) -> None:
    written = os.pwrite(fd, data, offset)
    while written < len(data):
        more = os.pwrite(fd, data[written:], offset + written)
        if more == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += more


def _update_xattrs(path: bytes, node: Node, wanted: Mapping[bytes, bytes]) -> None:
    attributes = {name: value for name, value in wanted.items() if name.startswith(b"user.")}
    if node.xattrs == attributes:
        return
    try:
        found = _read_xattrs(path) if node.xattrs is None else node.xattrs
        if found != attributes and node.mode & 0o200 == 0:
            os.chmod(path, node.mode | 0o600)
            node.mode |= 0o600
        for name in found.keys() - attributes.keys():
            os.removexattr(path, name, follow_symlinks=False)
        for name, value in attributes.items():
            if found.get(name) != value:
                os.setxattr(path, name, value, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_XATTRS:
            raise
    node.xattrs = attributes


def _read_xattrs(path: bytes) -> dict[bytes, bytes]:
    names = [os.fsencode(name) for name in os.listxattr(path, follow_symlinks=False)]
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names if name.startswith(_OURS)}

"""Where the debug information of an ELF file is: in it, or in a file of its own.

Before: an open file. After: the path of the file with its debug information, made for the same build, or None.
Distributions keep them apart, found by the build-id or by a link with a checksum. What is split further (.dwo beside
the objects, what dwz has put together for several files) libdw finds by itself.
"""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterator
from pathlib import Path

from powercut.trace.elf import Elf, ElfError, string

_ROOT = "/usr/lib/debug"
_SECTIONS = (".debug_info", ".zdebug_info")
_LINK = ".gnu_debuglink"
_CHUNK = 1 << 20


def debug_file(path: str, elf: Elf, root: str = _ROOT) -> str | None:
    """The file with the debug information of the one at `path`."""
    if elf.has(*_SECTIONS):
        return path
    return next(iter(_by_build_id(elf, root)), None) or next(iter(_by_link(path, elf, root)), None)


def _by_build_id(elf: Elf, root: str) -> Iterator[str]:
    build_id = elf.build_id()
    found = f"{root}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if build_id and _build_id_of(found) == build_id:
        yield found


def _by_link(path: str, elf: Elf, root: str) -> Iterator[str]:
    name, checksum = _link(elf)
    if not name or posixpath.basename(name) != name:
        return
    folder = posixpath.dirname(posixpath.realpath(path))
    for found in (f"{folder}/{name}", f"{folder}/.debug/{name}", f"{root}{folder}/{name}"):
        build_id = _build_id_of(found)
        if build_id is None:
            continue  # not there
        known = elf.build_id()
        if (build_id == known) if build_id and known else (_checksum(found) == checksum):
            yield found


def _link(elf: Elf) -> tuple[str, int]:
    """The name in the link and the checksum of what it leads to; an empty name without."""
    data = next((elf.data(section) for section in elf.sections if section.name == _LINK), b"")
    name = string(data, 0)
    at = (data.find(b"\0") + 4) & ~3
    return name, int.from_bytes(data[at : at + 4], "little" if elf.order == "<" else "big")


def _build_id_of(path: str) -> str | None:
    """The build-id of a file; empty if it has none, None if it is no file with debug information."""
    try:
        if not Path(path).is_file():
            return None
        with open(path, "rb") as stream:
            elf = Elf(stream)
            return elf.build_id() if elf.has(*_SECTIONS) else None
    except (OSError, ElfError):
        return None


def _checksum(path: str) -> int:
    value = 0
    try:
        with open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                value = zlib.crc32(chunk, value)
    except OSError:
        return -1
    return value

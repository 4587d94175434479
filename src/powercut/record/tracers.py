"""Which tracer records a program, and why.

The system-call tracer sees every change that goes through the kernel and costs next to nothing. The memory tracer sees
the stores into mapped files, too, but runs the program inside Valgrind, several times slower. Programs that use
persistent memory are known by their libraries; others show it when they map a file of the data folder for writing.
"""

from __future__ import annotations

import mmap
import os
import struct
from contextlib import suppress
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.image.ignored import is_made_anew
from powercut.native_programs import memory_tool, why_no_memory_tool
from powercut.record.remedies import install, rebuild
from powercut.trace.layout import INODE, KIND, PATH, PATH2, Kind
from powercut.trace.reader import Trace

_ELF, _CLASS_64, _X86_64 = b"\x7fELF", 2, 62
_LIBRARIES = (b"libpmem", b"libpmemobj", b"libpmem2")
_SEARCHED = 64 << 20  # bytes of a program that are looked at


class MapsFilesError(Exception):
    """The program maps files of the data folder for writing: the system-call tracer does not see all it does."""

    def __init__(self, names: list[bytes]) -> None:
        super().__init__(names)
        self.names = ", ".join(name.decode("utf-8", "replace") for name in names[:3])


def require_memory_tool(program: Path, *, replaceable: bool = False) -> Path:
    """The Valgrind tool, able to run a program; or why not. It is replaceable where calls alone mean something."""
    tool = memory_tool()
    if tool is None:
        hint = f"Run {install('valgrind')} && {rebuild()}."
        if replaceable:
            hint += " Or use --tracer calls, which tests everything except stores into mapped files."
        raise EnvironmentFailure("no-memory-tracer", f"the memory tracer is missing: {why_no_memory_tool()}.", hint)
    with suppress(OSError), open(program, "rb") as file:
        head = file.read(20)
        if head[:4] == _ELF and (head[4] != _CLASS_64 or struct.unpack_from("<H", head, 18)[0] != _X86_64):
            raise EnvironmentFailure(
                "not-x86-64",
                f"{str(program)!r} is not a 64-bit x86 program. The memory tracer runs no others.",
                "Build it for x86-64, or use --tracer calls." if replaceable else "Build it for x86-64.",
            )
    return tool


def links_persistent_memory(program: Path) -> str:
    """The persistent-memory library that a program names; empty if there is none."""
    with suppress(OSError, ValueError), open(program, "rb") as file:
        if file.read(4) != _ELF:
            return ""
        length = min(_SEARCHED, os.fstat(file.fileno()).st_size)
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as content:
            for library in _LIBRARIES:
                at = content.find(library + b".so")
                if at >= 0:
                    return content[at : content.find(b"\0", at)][:40].decode("ascii", "replace")
    return ""


def mapped_files(trace: Trace) -> list[bytes]:
    """Files of the data folder that the program mapped for writing, without those that no crash can hurt."""
    if not len(trace.of_kind(Kind.MMAP)):
        return []
    names: dict[int, int] = {}  # inode -> its last name
    mapped: dict[bytes, None] = {}
    for _, record in trace.calls():
        if record[KIND] == Kind.MMAP:
            mapped[trace.string(names.get(record[INODE], 0))] = None
        elif record[PATH2] or record[PATH]:
            names[record[INODE]] = record[PATH2] or record[PATH]
    return [name for name in mapped if not is_made_anew(name)]

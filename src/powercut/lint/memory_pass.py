"""The pass over memory records: the C engine walks them, this module gives its findings their meaning.

Before: a trace as it stands in its file. After: sightings of the patterns of mapped memory, each by call stack, and
which syncs made a store persistent. What a store that was never written back means depends on the memory its file is
in, which on its own powercut decides as `states/memory_rules.py` does, once the pass has seen all flushes.
"""

from __future__ import annotations

import mmap
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
import numpy.typing as npt

from powercut import _engine
from powercut.lint import patterns
from powercut.lint.libraries import StackRoles
from powercut.lint.patterns import PAIRS, Pattern
from powercut.lint.sightings import Sightings
from powercut.model.memory import AUTO, EADR, PAGE_CACHE, PX86, Memory
from powercut.quick_dataclass import dataclass
from powercut.trace.reader import Trace

SITE = np.dtype(
    [
        *((name, "<u4") for name in ("pattern", "file", "stack", "other")),
        ("count", "<u8"),
        *((name, "<u4") for name in ("first", "last", "most", "unused")),
    ]
)


class Seen(IntEnum):
    """What the engine tells apart: enum lint_pattern of native/engine/lint/lint.h."""

    UNFLUSHED = 1
    UNFENCED = 2
    TRANSIENT = 3
    OVERWRITE = 4
    FLUSH_CLEAN = 5
    FLUSH_AGAIN = 6
    FLUSH_BYPASSED = 7
    FLUSH_VOLATILE = 8
    FLUSH_EADR = 9
    FLUSH_SEVERAL = 10
    FENCE_IDLE = 11
    FENCE_SEVERAL = 12


class FileFlag(IntFlag):
    """What the program did with a mapped file."""

    FLUSHED = 1
    MSYNCED = 2
    SYNCED = 4  # by msync or fsync, after a store
    GONE = 8


_PATTERNS: dict[int, Pattern] = {
    Seen.UNFLUSHED: patterns.MISSING_FLUSH,
    Seen.UNFENCED: patterns.MISSING_FENCE,
    Seen.TRANSIENT: patterns.TRANSIENT,
    Seen.OVERWRITE: patterns.DIRTY_OVERWRITE,
    Seen.FLUSH_CLEAN: patterns.FLUSH_CLEAN,
    Seen.FLUSH_AGAIN: patterns.FLUSH_AGAIN,
    Seen.FLUSH_BYPASSED: patterns.FLUSH_BYPASSED,
    Seen.FLUSH_VOLATILE: patterns.FLUSH_VOLATILE,
    Seen.FLUSH_EADR: patterns.FLUSH_EADR,
    Seen.FLUSH_SEVERAL: patterns.FLUSH_SEVERAL,
}
_NEVER_PERSISTED = (Seen.UNFLUSHED, Seen.UNFENCED, Seen.TRANSIENT)
_FENCES = (Seen.FENCE_IDLE, Seen.FENCE_SEVERAL)


@dataclass(frozen=True, slots=True)
class MappedFile:
    """What the pass knows of a file that was stored to or mapped."""

    inode: int
    stores: int
    flags: FileFlag


@dataclass(frozen=True, slots=True)
class MemoryPass:
    """What one pass found.

    Attributes:
        sites: what was seen, as `SITE` records.
        files: by number, from 1 on.
        storing: the stacks that stored.
        executed: for each stack, how many flushes or fences.
        useful: positions, among the written events, of syncs that made a store persistent.
    """

    sites: npt.NDArray[Any]
    files: list[MappedFile]
    storing: list[int]
    executed: npt.NDArray[np.uint64]
    useful: frozenset[int]
    stores: int
    flushes: int
    fences: int

    @property
    def records(self) -> int:
        """Stores, flushes and fences."""
        return self.stores + self.flushes + self.fences


def walk(trace: Trace, memory: Memory, internal: bytes) -> MemoryPass:
    """Let the engine walk the records of a trace; `internal` says which stacks are a library's own."""
    content = trace.content
    written = np.ascontiguousarray(trace.written)
    mapped = isinstance(content, mmap.mmap)
    try:
        found = _engine.lint_memory(written, content, internal, memory is EADR, mapped)
    except ValueError as error:
        raise trace.broken(str(error)) from error
    sites, files, storing, executed, useful, *counts = found
    return MemoryPass(
        np.frombuffer(sites, SITE),
        [MappedFile(inode, stores, FileFlag(flags)) for inode, stores, flags in files],
        np.flatnonzero(np.frombuffer(storing, np.uint8)).tolist(),
        np.frombuffer(executed, np.uint64),
        frozenset(np.frombuffer(useful, np.uint64).tolist()),
        *counts,
    )


def media(found: MemoryPass, wanted: Memory) -> list[Memory]:
    """What memory each file is in."""
    flushed = any(file.flags & FileFlag.FLUSHED for file in found.files if file.inode)  # 0: ordinary memory
    rest = PX86 if flushed else PAGE_CACHE
    return [
        wanted
        if wanted is not AUTO
        else PX86
        if file.flags & FileFlag.FLUSHED
        else PAGE_CACHE
        if file.flags & FileFlag.MSYNCED
        else rest
        for file in found.files
    ]


def persistent_files(found: MemoryPass, wanted: Memory) -> set[int]:
    """The inodes that are persistent memory and were stored to."""
    rows = zip(found.files, media(found, wanted), strict=True)
    return {file.inode for file, row in rows if row.persistent and file.stores}


def interpret(found: MemoryPass, wanted: Memory, roles: StackRoles, names: dict[int, bytes], into: Sightings) -> None:
    """Add what the pass saw to the sightings; `names` are those of inodes."""
    rows = media(found, wanted)
    persistent = persistent_files(found, wanted)
    for site in found.sites:
        seen, number, stack = Seen(int(site["pattern"])), int(site["file"]), int(site["stack"])
        if seen in _FENCES:
            idle = patterns.FENCE_IDLE_EADR if wanted is EADR else patterns.FENCE_IDLE
            pattern = patterns.FENCE_SEVERAL if seen is Seen.FENCE_SEVERAL else idle
            if persistent and not roles.in_c_library(stack) and not roles.is_generated(stack):
                _add(into, pattern, site, None, found)
        else:
            file = found.files[number - 1]
            of_file = _pattern(seen, rows[number - 1], file)
            if of_file is patterns.FLUSH_VOLATILE and roles.is_generated(stack):
                continue  # code that a runtime compiled
            if of_file is not None:
                _add(into, of_file, site, names.get(file.inode), found)


def _pattern(seen: Seen, row: Memory, file: MappedFile) -> Pattern | None:
    """What something seen means in the memory that a file is in; None if nothing."""
    if row.persistent or seen is Seen.FLUSH_VOLATILE:
        return _PATTERNS[seen]
    if seen in _NEVER_PERSISTED:
        return patterns.MISSING_SYNC if file.flags & FileFlag.SYNCED else patterns.TRANSIENT_FILE
    return None  # in the page cache, bytes may be stored over any number of times, and lines do not count


def _add(into: Sightings, pattern: Pattern, site: Any, name: bytes | None, found: MemoryPass) -> None:
    stack, count = int(site["stack"]), int(site["count"])
    if pattern in PAIRS:
        into.add(pattern, stack, int(site["other"]), file=name, count=count)
        return
    sighting = into.add(pattern, stack, file=name, count=count)
    sighting.other = sighting.other or int(site["first"])
    sighting.most = max(sighting.most, int(site["most"]))
    if stack and pattern.name.endswith(("-flush", "-fence")):
        sighting.executed = int(found.executed[stack])

"""The C extension: system calls and hot loops that Python lacks (native/engine)."""

from array import array
from collections.abc import Callable, Collection, Iterable
from mmap import mmap
from os import PathLike
from typing import Any

import numpy.typing as npt

_Path = str | bytes | PathLike[str]
_Items = bytes | mmap | array[int] | npt.NDArray[Any]  # numbers or bytes, one after the other

def spawn(
    path: bytes,
    argv: list[bytes],
    env: list[bytes],
    cwd: bytes,
    stdin_fd: int,
    output_fd: int,
    timeout: float,
    tick: Callable[[], object] | None,
    /,
) -> tuple[str, int, float, bytes]:
    """Run a program in a new process group and kill all that is left of it; only for processes without other children.

    Returns (kind, code, seconds, end of the output): kind is "exit" with the status, "signal" with its number,
    "timeout", or "error" with errno when it could not start. The output file is emptied. ``tick`` is called every
    few milliseconds while the program runs.
    """

class ForkServer:
    """A check that was started once and is forked for each state; only for processes without other children.

    Attributes:
        alive: whether it can be asked.
        seconds: what starting it took.
        strict_from: what another one for the same check should be started with.
        point: the number of the system call before which it waits.
    """

    alive: bool
    seconds: float
    strict_from: int
    point: int

    def __new__(
        cls,
        path: bytes,
        argv: list[bytes],
        env: list[bytes],
        cwd: bytes,
        stdin_fd: int,
        output_fd: int,
        folder: bytes,
        scratch: bytes,
        limit: float,
        strict_from: int,
        lenient: bool,
        /,
    ) -> ForkServer:
        """Start it; RuntimeError with the reason where it cannot be forked.

        Nothing in ``folder`` and ``scratch`` is looked at before the fork; if ``lenient``, the folder itself may be,
        and names that are missing there. ``strict_from``: -1 at first.
        """

    def run(self, timeout: float, tick: Callable[[], object] | None, /) -> tuple[str, int, float, bytes] | None:
        """As `spawn`, by a fork; None if it does not fit the image, or fits none any more and has ended."""

    def close(self) -> None:
        """End it."""

def reap_strays() -> int:
    """Kill and reap every child of this process; how many there were."""

def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (child subreaper)."""

def die_with_parent(parent: int, /) -> None:
    """End this process, and a program that it runs, soon after the thread that forked it ends."""

def watch_open() -> int:
    """A new non-blocking inotify descriptor."""

def watch_add(fd: int, path: bytes, mask: int, /) -> int:
    """Watch a folder; its watch number."""

def watch_remove(fd: int, watch: int, /) -> None:
    """Stop watching; a watch that is gone already is fine."""

def watch_read(fd: int, into: dict[tuple[int, bytes], int], /) -> int:
    """Fold all waiting events into ``{(watch, name): mask}``; how many there were."""

def enter_view(source: _Path, target: _Path, /) -> None:
    """Enter a private mount namespace in which ``target`` shows ``source``."""

def bind_mount(source: _Path, target: _Path, /) -> None:
    """Show ``source`` at ``target`` in this mount namespace."""

def mount_tmpfs(path: _Path, options: str, /) -> None:
    """Mount a new tmpfs at ``path`` in this mount namespace."""

def can_enter_view() -> tuple[bool, str]:
    """Whether this process could enter a private view, and the reason when it could not."""

def unmount(path: _Path, /) -> None:
    """Take the last mount from a folder, in this mount namespace; whoever is still in it keeps it."""

def mount_layers(lower: _Path, upper: _Path, work: _Path, target: _Path, /) -> int:
    """Mount an overlay at `target`; 1: files with several names stay one, 2: they do not, 3: nor do folders move."""

def enter_layers(upper: _Path, work: _Path, target: _Path, /) -> int:
    """Move into a mount namespace of our own, with an overlay at a folder that is its own lower layer."""

def try_layers(upper: _Path, work: _Path, target: _Path, name: _Path, /) -> tuple[int, str, int]:
    """Try `enter_layers`, and to change a file of the folder; what it says, or 0 and why not; the file's inode."""

def survey(path: _Path, patterns: tuple[bytes, ...], /) -> tuple[bytes, bytes, int, int, bytes]:
    """Rows and paths of all that a folder holds; how much was left out, how much is on other devices, the first."""

def install_filter() -> None:
    """Install the tracer's system-call filter in this process."""

def losses(firsts: _Items, users: _Items, updates: Iterable[int], issued: int, /) -> frozenset[int]:
    """Updates that must be lost with some, themselves included, among those issued.

    The users of update u are ``users[firsts[u]:firsts[u + 1]]``; int64 and int32.
    """

def requirements(
    firsts: _Items, needs: _Items, guaranteed: _Items, updates: Iterable[int], point: int, /
) -> frozenset[int]:
    """Updates that must survive with some, themselves included, leaving out what is guaranteed at a point."""

def mark_set(updates: Iterable[int], /) -> int:
    """A number of 64 bits that stands for a set of updates: the exclusive or of one for each."""

def mark_sums(updates: _Items, every: int, /) -> bytes:
    """The marks of the first 0, ``every``, ``2 * every`` and so on of some updates (int32), as 64-bit numbers."""

class History:
    """The updates of one timeline, by what they change (states/content_index.py makes the indices)."""

    def __new__(
        cls,
        kind: _Items,
        obj: _Items,
        start: _Items,
        length: _Items,
        data: _Items,
        fresh: _Items,
        guaranteed: _Items,
        trace: _Items,
        block_keys: _Items,
        block_first: _Items,
        block_updates: _Items,
        size_updates: _Items,
        cut_updates: _Items,
        base_sizes: _Items,
        extent_owners: _Items,
        extents: _Items,
        garbage: bool,
        /,
    ) -> History: ...
    def touched(self, differing: Iterable[int], /) -> tuple[list[int], dict[int, set[int] | None], set[int]]:
        """Where images differ if just these updates survive in one and not in the other.

        Returns the ENTRY updates among them; for each file the blocks whose bytes may differ (None: all); the objects
        whose size, mode or attributes may differ.
        """

    def data_from(self, file: int, offset: int, /) -> int:
        """The first offset, from one on, that the snapshot or any update fills."""

class Survivors:
    """The updates that survived in one crash state, and what files hold with them."""

    def __new__(
        cls, history: History, point: int, issued: int, delta_kept: bool, delta: Collection[int], /
    ) -> Survivors: ...
    def survives(self, update: int, /) -> bool:
        """Whether an update survived."""

    def differing(self, other: Survivors, first: int, last: int, others: Iterable[int], /) -> bytes:
        """Of both deltas, the updates from `first` to before `last` and some others: what survived in one state.

        32-bit numbers: two states that lie far apart differ by most of a trace.
        """

    def size(self, file: int, /) -> int:
        """The length of a file."""

    def block(self, file: int, number: int, /) -> bytes:
        """One whole block, as if the file went on behind its end."""

    def read(self, file: int, offset: int, length: int, /) -> bytes:
        """Content of a file, cut off at its end."""

    def patch(self, fd: int, file: int, blocks: set[int], end: int, /) -> None:
        """Write some blocks of a file into an open file, none beyond ``end``."""

    def fill(self, fd: int, file: int, start: int, end: int, /) -> int:
        """Write what is not zero between two offsets into an open file that reads as zeros there.

        Returns where the last write ended, ``start`` if there was none.
        """

class BlockHashes:
    """The hashes of one file's blocks, and their exclusive or."""

    def update(self, survivors: Survivors, file: int, blocks: Iterable[int] | None, size: int, /) -> bytes:
        """Hash some blocks anew, or all, for a file of a size; what stands for the content of the whole file."""

class Chains:
    """Which update last touched a piece of data, and what caches and buffers hold back.

    Pieces are cache lines of the objects that are managed, and ``unit`` bytes of all others.
    """

    def __init__(self, unit: int, /) -> None: ...
    def manage(self, obj: int, /) -> None:
        """From now on an object persists by cache lines."""

    def manages(self, obj: int, /) -> bool:
        """Whether an object persists by cache lines."""

    def follow(self, obj: int, start: int, length: int, update: int, /) -> list[int]:
        """Let an update be the last one of the pieces it touches; those that were it before."""

    def last_updates(self, obj: int, low: int, high: int, /) -> list[int]:
        """The last update of each line of a managed object that lies in a range of bytes."""

    def run(
        self,
        trace: _Items,
        offset: int,
        count: int,
        first_event: int,
        files: list[tuple[int, int, int, int, tuple[int, int, int]]],
        guaranteed: _Items,
        first_need: _Items,
        needs: _Items,
        /,
    ) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]:
        """Apply ``count`` memory records; the columns of the updates they make.

        ``files`` gives for each file number (number, object, size, last truncate or -1, flags: 1 persistent, 2 the
        cache survives). ``guaranteed`` is changed in place for older updates. The columns: obj, event, start, length,
        data, guaranteed, where its needs end, needs.
        """

def lint_memory(
    events: _Items, trace: bytes | mmap, internal: bytes, eadr: bool, mapped: bool, /
) -> tuple[bytes, list[tuple[int, int, int]], bytes, bytes, bytes, int, int, int]:
    """Look for patterns of misuse in the memory records of a trace.

    ``events`` are as they stand in the file ``trace``; ``internal`` says for each stack, from number 0 on, whether it
    is inside a library of persistent memory; ``mapped``: the trace is a mapped file, whose pages need not be kept.

    Returns what was found (struct lint_site of native/engine/lint/lint.h); of each file (inode, stores, flags: 1
    flushed, 2 msynced, 4 synced after a store, 8 gone); for each stack whether it stored (8 bits) and how many flushes
    or fences it made (64 bits); positions of syncs that made a store persistent (64 bits); the number of stores,
    flushes and fences. Raises ValueError where a record is none that a tracer writes.
    """

def guard_records(segment: bytes, /) -> bytes:
    """All whole records in a segment of a checkpoint log, those of groups one by one, as `guard.log.PLACED`."""

def guard_reclaim(
    segments: list[bytes | mmap], bound: int, versions: int, output: int, salt: int, bases: dict[int, int], /
) -> tuple[int, int]:
    """Write what is to be kept of some segments into a new one, and into the bases (number: descriptor) what those say.

    Of each byte the newest ``versions`` are kept, and all records from the sequence number ``bound`` on; of what is
    older, the newest as what the base shall be. ``salt`` is that of the new segment. Returns how many bytes were
    written, and the newest record of which a byte is no version any more (0: none).
    """

def guard_checksum(record: bytes, salt: int, /) -> int:
    """The checksum of a record, whatever it holds as such, from its segment's salt on."""

def guard_present(segments: list[bytes], images: dict[int, Any], /) -> tuple[list[tuple[int, int, bytes]], int]:
    """Make the bases of pools (by their numbers, to be written) what the pools hold, by all segments of a log.

    Returns which pools the log tells of (number, size, path), and the highest sequence number (0: none).
    """

def guard_authors(image: Any, known: Any, segments: list[bytes], changes: bytes, /) -> bytes:
    """Write changes (`log.CHANGE`) into a pool's image: the pieces (`pieces.PIECE`) that they made what they are.

    `known` has a byte for each word of the image: whether its author is known.
    """

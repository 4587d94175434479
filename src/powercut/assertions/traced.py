"""Assertions in a recording of the memory tracer: the same engine checks them, fed from the trace.

Before: a trace of a program with assertions (powercut.h), from any build, recorded with `--tracer memory`. After: a
saved check trace, as `powercut check --save` makes them: each store, flush, fence and sync in a mapped file, and what
the program asserted between them, thread by thread in their order, with the user's lines. What PMDK's libraries store
is their own affair, as it is with `powercut cc`.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from powercut.assertions.checker import MAGIC
from powercut.errors import UsageError
from powercut.findings.places import Places
from powercut.trace.events import LARGEST_FILE
from powercut.trace.layout import TRACE_MAGIC, Flag, Kind
from powercut.trace.reader import Trace
from powercut.trace.symbols import Frame, user_frame

_WRITE, _WRITE_NT, _FLUSH, _FENCE, _START, _END, _LIBRARY_FLUSH = 1, 2, 3, 4, 25, 26, 29  # enum pc_operation
_RINGS = 256  # of a channel: more threads than that take turns
_MOST_SITES = 1 << 16
_MOST_BYTES = (1 << 32) - 1  # of a record
_MOST_FILES = (1 << 64) // LARGEST_FILE - 1
_LIBRARIES = "libpmem"
_SITES = 0xFFFFFFFF  # the ring of the chunk that holds the places


class _Place(NamedTuple):
    """Where an operation stands, as far as it is known."""

    file: str
    function: str
    line: int


def is_recording(path: Path) -> bool:
    """Whether a file is what `powercut record` writes."""
    try:
        with path.open("rb") as file:
            return file.read(len(TRACE_MAGIC)) == TRACE_MAGIC
    except OSError:
        return False


def save_assertions(recording: Path, saved: Path) -> list[str]:
    """Write what a recording holds of assertions as a saved check trace; what there is to say about it."""
    trace = Trace.open(recording)
    if not len(trace.of_kind(Kind.ASSERTION)):
        hint = "Build the program with the flags of powercut config, and record it with --tracer memory."
        raise UsageError("no-assertions", f"the trace {recording} contains no assertions.", hint)
    writer = _Writer(Places(trace))
    with saved.open("wb") as file:
        file.write(MAGIC)
        for chunk in writer.chunks(trace):
            file.write(chunk)
        file.write(writer.sites())
    strange = writer.strange
    return [f"{strange} assertions about memory outside recorded files are not checked"] if strange else []


class _Writer:
    """Turns events into records; numbers files, threads and places as they come.

    Attributes:
        strange: how many assertions are about memory that is not in the trace.
    """

    def __init__(self, places: Places) -> None:
        self.strange = 0
        self._places = places
        self._files: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        self._numbers: dict[_Place, int] = {}
        self._of_stack: dict[int, tuple[int, bool]] = {}

    def chunks(self, trace: Trace) -> Iterator[bytes]:
        """The records, a chunk for each time that a thread runs."""
        kinds = (Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.MSYNC, Kind.ASSERTION)
        events = trace.events[trace.of_kind(*kinds)]
        self._places.prepare(map(int, set(events["stack"].tolist())))
        controlled = {
            _thread(event) for event in events if event["extra"] == _START and event["kind"] == Kind.ASSERTION
        }
        running: set[tuple[int, int]] = set()
        records, last = bytearray(), None
        for event in events:
            thread = _thread(event)
            if thread != last and records:
                yield self._chunk(last, records)
                records = bytearray()
            last = thread
            if event["kind"] == Kind.ASSERTION and event["extra"] in (_START, _END):
                (running.add if event["extra"] == _START else running.discard)(thread)
                records += self._record(int(event["extra"]), event, is_range=False)
            elif thread not in controlled or thread in running:
                records += self._records(event)
        if records:
            yield self._chunk(last, records)

    def _records(self, event: Any) -> bytes:
        kind, is_library = event["kind"], self._site(int(event["stack"]))[1]
        if kind == Kind.ASSERTION and event["length"] and not event["inode"]:
            self.strange += 1
            return b""
        if kind == Kind.ASSERTION:
            return self._record(int(event["extra"]), event, is_range=bool(event["inode"]))
        if kind == Kind.FENCE:
            return self._record(_FENCE, event, is_range=False)
        if not event["inode"] or (is_library and kind == Kind.STORE):
            return b""
        if kind == Kind.MSYNC:  # whole pages: that more is written back than was written is no mistake
            return self._record(_LIBRARY_FLUSH, event) + self._record(_FENCE, event, is_range=False)
        if kind == Kind.FLUSH:
            return self._record(_LIBRARY_FLUSH if is_library else _FLUSH, event)
        return self._record(_WRITE_NT if event["flags"] & Flag.NONTEMPORAL else _WRITE, event)

    def _record(self, operation: int, event: Any, *, is_range: bool = True) -> bytes:
        site = self._site(int(event["stack"]))[0]
        size = min(int(event["length"]), _MOST_BYTES) if is_range else 0
        address = self._base(int(event["inode"])) + int(event["offset"]) if is_range else 0
        return struct.pack("<QQ", operation | site << 8 | size << 32, address)

    def _base(self, inode: int) -> int:
        """Files lie behind each other, each with all the room it may ever need."""
        number = self._files.setdefault(inode, 1 + len(self._files))
        if number > _MOST_FILES:
            raise UsageError("bad-check-trace", "the trace has too many files to check.")
        return number * LARGEST_FILE

    def _site(self, stack: int) -> tuple[int, bool]:
        """The number of the user's line of a stack, and whether a library of PMDK's is what ran."""
        if stack not in self._of_stack:
            frames = self._places.frames_of(stack)
            place = _place(user_frame(frames))
            known = place in self._numbers or len(self._numbers) < _MOST_SITES - 1
            number = self._numbers.setdefault(place, 1 + len(self._numbers)) if place and known else 0
            self._of_stack[stack] = number, bool(frames) and _is_library(frames[0])
        return self._of_stack[stack]

    def _chunk(self, thread: tuple[int, int] | None, records: bytearray) -> bytes:
        number = self._threads.setdefault(thread or (0, 0), len(self._threads))
        head = struct.pack("<4I", number % _RINGS, 1 + number // _RINGS, len(records) // 16, 0)
        return head + bytes(records)

    def sites(self) -> bytes:
        """The last chunk: all places, and the text of their names."""
        text, starts, rows = bytearray(b"\0"), dict[str, int](), [bytes(24)]
        for place in self._numbers:
            for name in (place.file, place.function):
                if name not in starts:
                    starts[name] = len(text)
                    text += name.encode("utf-8", "surrogateescape") + b"\0"
            rows.append(struct.pack("<4IQ", starts[place.file], starts[place.function], place.line, 0, 0))
        return struct.pack("<4I", _SITES, len(rows), len(text), 0) + b"".join(rows) + bytes(text)


def _thread(event: Any) -> tuple[int, int]:
    return int(event["pid"]), int(event["tid"])


def _place(frame: Frame | None) -> _Place | None:
    return _Place(frame.file, frame.function or "", frame.line or 0) if frame and frame.file else None


def _is_library(frame: Frame) -> bool:
    return posixpath.basename(frame.module or "").startswith(_LIBRARIES)

"""How engine and worker talk: framed messages over a socket pair, and a slot of shared memory.

Messages are batches, so that a state costs a fraction of a system call. What a worker is doing right now must be known
even when it dies in the middle of it: it writes that into its slot, which costs no call at all. Both sides are one
program, forked: messages are marshalled, states as plain tuples.
"""

from __future__ import annotations

import marshal
import mmap
import socket
import struct
import time
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from powercut.oracle.image_queries import Asked
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.jobs import Job, Result, Watched, Watching
from powercut.states.state import Base, State

_LENGTH = struct.Struct("<I")
_SLOT = struct.Struct("<qqd")
_CHUNK = 1 << 18
NO_JOB = -(2**62)
PackedJob = tuple[int, int, int | None, bool, int, int, bool, list[int], list[int]]
PackedWatched = tuple[Asked | None, str, str, float]
PackedResult = tuple[tuple[str, int, str, float, tuple[str, ...]], int, PackedWatched | None, float]


class Message(IntEnum):
    """What a frame says."""

    JOBS = 1
    READY = 2  # the worker is set up; from a node, with how many jobs it wants to have at hand
    RESULTS = 3
    FAILED = 4  # the worker cannot go on: (slug, message, hint)


class Phase(IntEnum):
    """What a worker is doing."""

    IDLE = 0
    BUILDING = 1  # moving its image to a state
    JUDGING = 2  # running the oracle


def frame(kind: Message, content: Any) -> bytes:
    """A message as bytes."""
    body = marshal.dumps((int(kind), content))
    return _LENGTH.pack(len(body)) + body


def frames(buffer: bytearray) -> list[tuple[Message, Any]]:
    """Take all whole messages off the front of a buffer."""
    found: list[tuple[Message, Any]] = []
    at = 0
    while len(buffer) - at >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(buffer, at)
        if len(buffer) - at - _LENGTH.size < length:
            break
        at += _LENGTH.size
        kind, content = marshal.loads(memoryview(buffer)[at : at + length])
        found.append((Message(kind), content))
        at += length
    if at:
        del buffer[:at]
    return found


def pack_jobs(jobs: Sequence[Job]) -> bytes:
    """A batch of jobs as a message."""
    return frame(Message.JOBS, [_pack_job(job) for job in jobs])


def _pack_job(job: Job) -> PackedJob:
    state = job.state
    issued, delta = state.base is Base.ISSUED, [int(u) for u in state.delta]
    output, how = (job.output_until, job.traced), int(job.looks)
    return job.id, job.timeline, *output, how, int(state.point), issued, delta, [int(u) for u in job.unsaid]


def unpack_job(packed: PackedJob) -> Job:
    """One job of a batch."""
    number, timeline, output_until, traced, looks, point, issued, delta, unsaid = packed
    state = State(point, Base.ISSUED if issued else Base.GUARANTEED, frozenset(delta))
    return Job(number, timeline, state, output_until, traced, Watching(looks), frozenset(unsaid))


def pack_result(result: Result) -> PackedResult:
    """A result as plain values."""
    verdict, watched = result.verdict, result.watched
    seen = None
    if watched is not None:
        seen = (watched.asked, watched.why, watched.differs, watched.plain)
    said = (verdict.outcome.value, verdict.code, verdict.output, verdict.seconds, verdict.stack)
    return said, result.id, seen, result.seconds


def unpack_result(packed: PackedResult) -> Result:
    """A result from plain values."""
    (outcome, code, output, ran, stack), number, seen, seconds = packed
    watched = None if seen is None else Watched(*seen)
    return Result(number, Verdict(Outcome(outcome), code, output, ran, stack), watched, seconds)


class Inbox:
    """The worker's end: waits for whole messages."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._buffer = bytearray()

    def receive(self) -> list[tuple[Message, Any]]:
        """At least one message; empty when the other side is gone."""
        while True:
            data = self._socket.recv(_CHUNK)
            if not data:
                return []
            self._buffer += data
            found = frames(self._buffer)
            if found:
                return found


class Slot:
    """What one worker is doing, in memory that the engine sees."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    def write(self, phase: Phase, job: int = NO_JOB) -> None:
        """Say what is being done from now on."""
        _SLOT.pack_into(self._memory, 0, phase, job, time.monotonic())

    def read(self) -> tuple[Phase, int, float]:
        """(phase, job, since when)."""
        phase, job, since = _SLOT.unpack_from(self._memory, 0)
        return Phase(phase), job, since

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

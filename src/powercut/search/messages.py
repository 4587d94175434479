"""How engine, workers and nodes talk: framed messages over sockets, and a slot of shared memory.

Messages are batches, so that a state costs a fraction of a system call. What a worker is doing right now must be known
even when it dies in the middle of it: it writes that into its slot, which costs no call at all.

A frame is the length of its body, its kind, and the body in MessagePack: arrays of typed fields, states as the updates
in which they differ. What comes in is checked against these types: what is none of them is a `MessageError`, never
anything else. Text travels as bytes, because names need not be UTF-8.
"""

from __future__ import annotations

import json
import mmap
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

import msgspec

from powercut.errors import EnvironmentFailure, PowercutError
from powercut.oracle.image_queries import TO_THE_END, Asked
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.jobs import Job, Result, Watched, Watching
from powercut.states.state import Base, State

_HEAD = struct.Struct("<IB")
_SLOT = struct.Struct("<qqd")
_CHUNK = 1 << 18
_LONGEST = 1 << 30  # bytes of a body: no batch comes near
NO_JOB = -(2**62)


class MessageError(EnvironmentFailure):
    """What came is no message."""

    @classmethod
    def because(cls, why: str) -> MessageError:
        """What is wrong with it."""
        return cls("broken-message", f"a worker or a node said what cannot be understood: {why}.")


class Message(IntEnum):
    """What a frame says."""

    JOBS = 1
    READY = 2  # the worker is set up; from a node, with how many jobs it wants to have at hand
    RESULTS = 3
    FAILED = 4  # the worker cannot go on
    SETUP = 5  # to a node: how it judges


class Phase(IntEnum):
    """What a worker is doing."""

    IDLE = 0
    BUILDING = 1  # moving its image to a state
    JUDGING = 2  # running the oracle


class JobMessage(msgspec.Struct, array_like=True, gc=False):
    """A job; `delta`: the updates in which its state differs from its base."""

    id: int
    timeline: int
    output_until: int | None
    traced: bool
    looks: Watching
    point: int
    issued: bool
    delta: list[int]
    unsaid: list[int]

    def job(self) -> Job:
        """What it says."""
        state = State(self.point, Base.ISSUED if self.issued else Base.GUARANTEED, frozenset(self.delta))
        unsaid = frozenset(self.unsaid)
        return Job(self.id, self.timeline, state, self.output_until, self.traced, self.looks, unsaid)


class WatchedMessage(msgspec.Struct, array_like=True):
    """What came of watching an oracle; `asked`: as `Asked`, where bits that are no 64-bit number are bytes."""

    asked: list[tuple[tuple[int, bytes, int, int | bytes], bytes]] | None
    why: bytes
    differs: bytes
    plain: float

    def watched(self) -> Watched:
        """What it says."""
        asked = self.asked
        found: Asked | None = None
        if asked is not None:
            found = [((ask, path, at, _number(bits)), answer) for (ask, path, at, bits), answer in asked]
        return Watched(found, _text(self.why), _text(self.differs), self.plain)


class ResultMessage(msgspec.Struct, array_like=True):
    """A result."""

    id: int
    outcome: Outcome
    code: int
    output: bytes
    ran: float
    stack: list[bytes]
    watched: WatchedMessage | None
    seconds: float
    forked: bool
    disproved: bytes
    contradiction: bytes

    def result(self) -> Result:
        """What it says."""
        verdict = Verdict(self.outcome, self.code, _text(self.output), self.ran, tuple(map(_text, self.stack)))
        watched = None if self.watched is None else self.watched.watched()
        words = _text(self.disproved), _text(self.contradiction)
        return Result(self.id, verdict, watched, self.seconds, self.forked, *words)


class FailureMessage(msgspec.Struct, array_like=True):
    """Why a worker or a node cannot go on."""

    slug: bytes
    message: bytes
    hint: bytes

    def words(self) -> tuple[str, str, str]:
        """Slug, message and hint."""
        return _text(self.slug), _text(self.message), _text(self.hint)


_ENCODER = msgspec.msgpack.Encoder()
_BODIES: dict[Message, msgspec.msgpack.Decoder[Any]] = {
    Message.JOBS: msgspec.msgpack.Decoder(list[JobMessage]),
    Message.READY: msgspec.msgpack.Decoder(int),
    Message.RESULTS: msgspec.msgpack.Decoder(list[ResultMessage]),
    Message.FAILED: msgspec.msgpack.Decoder(FailureMessage),
    Message.SETUP: msgspec.msgpack.Decoder(bytes),
}


def frame(kind: Message, content: object) -> bytes:
    """A message as bytes."""
    body = _ENCODER.encode(content)
    return _HEAD.pack(len(body), kind) + body


def frames(buffer: bytearray) -> list[tuple[Message, Any]]:
    """Take all whole messages off the front of a buffer, each with content of the type that its kind has."""
    found: list[tuple[Message, Any]] = []
    at = 0
    while len(buffer) - at >= _HEAD.size:
        length, number = _HEAD.unpack_from(buffer, at)
        if length > _LONGEST or number not in _KINDS:
            raise MessageError.because(f"a message of kind {number} with {length} bytes")
        if len(buffer) - at - _HEAD.size < length:
            break
        at += _HEAD.size
        kind = Message(number)
        found.append((kind, _decoded(kind, bytes(memoryview(buffer)[at : at + length]))))
        at += length
    if at:
        del buffer[:at]
    return found


_KINDS = frozenset(map(int, Message))


def _decoded(kind: Message, body: bytes) -> Any:
    try:
        return _BODIES[kind].decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise MessageError.because(str(error)) from error


def pack_jobs(jobs: Sequence[Job]) -> bytes:
    """A batch of jobs as a message."""
    return frame(Message.JOBS, [_pack_job(job) for job in jobs])


def _pack_job(job: Job) -> JobMessage:
    state = job.state
    issued, delta, unsaid = state.base is Base.ISSUED, list(state.delta), list(job.unsaid)
    return JobMessage(job.id, job.timeline, job.output_until, job.traced, job.looks, state.point, issued, delta, unsaid)


def unpack_jobs(messages: Sequence[tuple[Message, Any]]) -> Iterator[Job]:
    """The jobs of some messages, which hold nothing else."""
    for kind, batch in messages:
        if kind is not Message.JOBS:
            raise MessageError.because(f"{kind.name} instead of jobs")
        yield from (packed.job() for packed in batch)


def pack_result(result: Result) -> ResultMessage:
    """A result as a message has it."""
    verdict, watched = result.verdict, result.watched
    seen = None
    if watched is not None:
        asked: list[tuple[tuple[int, bytes, int, int | bytes], bytes]] | None = None
        if watched.asked is not None:
            asked = [((int(ask), path, at, _bits(bits)), said) for (ask, path, at, bits), said in watched.asked]
        seen = WatchedMessage(asked, _bytes(watched.why), _bytes(watched.differs), watched.plain)
    stack = [_bytes(frame) for frame in verdict.stack]
    output = _bytes(verdict.output)
    return ResultMessage(
        result.id,
        verdict.outcome,
        verdict.code,
        output,
        verdict.seconds,
        stack,
        seen,
        result.seconds,
        result.forked,
        _bytes(result.disproved),
        _bytes(result.contradiction),
    )


def pack_failure(error: PowercutError) -> bytes:
    """Why this side cannot go on, as a message."""
    return frame(Message.FAILED, FailureMessage(_bytes(error.slug), _bytes(error.message), _bytes(error.hint or "")))


def pack_setup(setup: msgspec.Struct) -> bytes:
    """How a node judges, as a message. JSON, because its texts are of all kinds and it is sent once."""
    return frame(Message.SETUP, json.dumps(msgspec.to_builtins(setup)).encode())


def unpack_setup(message: tuple[Message, Any], structure: type[Any]) -> Any:
    """The same, as a structure of that type."""
    kind, body = message
    if kind is not Message.SETUP:
        raise MessageError.because(f"{kind.name} instead of how to judge")
    try:
        return msgspec.convert(json.loads(body), structure)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise MessageError.because(str(error)) from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(text: bytes) -> str:
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise MessageError.because(str(error)) from error


def _bits(bits: int) -> int | bytes:
    return bits if bits <= TO_THE_END else bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def _number(bits: int | bytes) -> int:
    return bits if isinstance(bits, int) else int.from_bytes(bits, "little")


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

"""What the tests of taint share: running a program on a labelled pool, and what its stores depend on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from powercut.heal.taint import Fault, LabelRange, LabelsBoard, Thread
from powercut.trace.layout import Effect, Flag, Kind
from powercut.trace.symbols import StackResolver

from .memory_kit import TOOL
from .tracer_kit import Recording, record

WORD, PAGE, SOURCE = 8, 4096, 64  # bytes, bytes, labelled words: word i of the pool has the label i + 1
Labels = frozenset[int]


@dataclass(frozen=True)
class Stored:
    """One store into the pool: where, what its data depends on, and what its address does."""

    offset: int
    value: Labels = frozenset()
    where: Labels = frozenset()


@dataclass(frozen=True)
class Tainted:
    """One run."""

    recording: Recording
    stores: list[Stored]
    outputs: list[Labels]
    faults: list[Fault]
    threads: list[Thread]
    lost: int
    refused: int

    def functions(self, stack: int) -> list[str | None]:
        resolver = StackResolver.of(self.recording.trace)
        resolver.prepare([stack])
        return [frame.function for frame in resolver.frames(stack)]


def make_pool(data: Path, pages: int) -> Path:
    """A file whose first words hold their own number, and are labelled."""
    pool = data / "pool"
    words = b"".join(i.to_bytes(WORD, "little") for i in range(SOURCE))
    pool.write_bytes(words.ljust(pages * PAGE, b"\0"))
    return pool


def run(data: Path, command: list[str | Path], *options: str, faults: bool = True, **settings: object) -> Tainted:
    """Run a program whose pool is labelled, with all that it tells."""
    inode = os.stat(data / "pool").st_ino
    labelled = [LabelRange(inode, i * WORD, WORD, i + 1) for i in range(SOURCE)]
    with LabelsBoard(labelled, effects=True, faults=faults) as board:
        tracing = ("--memory-tool", str(TOOL), "--board", f"labels={board.descriptor}", *options)
        done = record(data, command, *tracing, pass_fds=(board.descriptor,), **settings)
        done.trace.events = done.trace.events[:]
        return Tainted(done, stores(done), outputs(done), board.faults(), board.threads(), board.lost, board.refused)


def stores(recording: Recording) -> list[Stored]:
    """All stores into the pool, with the effects that follow each."""
    found: list[Stored] = []
    for event in recording.events(Kind.STORE, Kind.EFFECT):
        if event.kind == Kind.STORE:
            if not event.flags & Flag.REST:
                found.append(Stored(event.offset))
        elif event.length != Effect.OUTPUT:
            last = found[-1]
            value = last.value | {event.extra} if event.length & Effect.VALUE else last.value
            where = last.where | {event.extra} if event.length & Effect.ADDRESS else last.where
            found[-1] = Stored(last.offset, value, where)
    return found


def outputs(recording: Recording) -> list[Labels]:
    """For each output, what it depends on."""
    found: list[Labels] = []
    waiting: set[int] = set()
    for event in recording.events(Kind.EFFECT, Kind.OUTPUT):
        if event.kind == Kind.EFFECT and event.length == Effect.OUTPUT:
            waiting.add(event.extra)
        elif event.kind == Kind.OUTPUT:
            found.append(frozenset(waiting))
            waiting = set()
    return found

"""The board: memory that powercut shares with the memory tracer's race mode, for plans and results.

The twin of native/grind/race/board.h, which is the one definition (tests/unit/test_board.py compares them). Before: a
plan. After: `Board`, a file in memory that the tracer inherits, and its results, which are there however the program
ended. Results are untrusted: the program can write to them. Whatever they say, counts and indexes stay inside.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum, IntFlag
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from powercut.quick_dataclass import dataclass

MAGIC, VERSION = 0x45434152, 1
SYNCS, SYNC_SITES = 8, 16
ARRIVALS = 8192
THREADS, FILES = 64, 64
BITMAP = 65536
SITES, SHARED, SHARED_SITES, CANDIDATES = 16384, 8192, 8, 16384
_FNV_START, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3

Array = npt.NDArray[Any]


class BoardFlag(IntFlag):
    """What race mode does besides counting."""

    LOADS = 1
    CANDIDATE = 2
    TAINT = 4
    ORDER = 8
    ALIASES = 16


class BoardMode(IntEnum):
    """How threads are scheduled."""

    FREE = 0
    DELAY = 1
    SYNC = 2


class BoardStop(IntEnum):
    """Why the tracer ended the program."""

    RAN = 0
    DEADLOCK = 1
    TIMEOUT = 2
    SLOW = 3


SITE = np.dtype([("module", "<u8"), ("offset", "<u8")])
PLAN = np.dtype(
    [
        *((name, "<u4") for name in ("magic", "version", "flags", "mode")),
        ("seed", "<u8"),
        *((name, "<u4") for name in ("delay_us", "delay_one_in", "wait_rounds", "wait_ms", "writer_rounds")),
        *((name, "<u4") for name in ("writer_ms", "most_inter", "most_intra", "run_ms", "sync_count")),
        *((name, "<u4") for name in ("expected_count", "reserved")),
    ]
)
ARRIVAL = np.dtype([("thread", "<u4"), ("turn", "<u4")])
SYNC = np.dtype(
    [
        ("offset", "<u8"),
        ("length", "<u8"),
        *((name, "<u4") for name in ("file", "load_count", "store_count", "skip", "privileged", "reader", "writer")),
        *((name, "<u4") for name in ("load_occurrence", "store_occurrence", "tries")),
        ("loads", SITE, (SYNC_SITES,)),
        ("stores", SITE, (SYNC_SITES,)),
        *((name, "<u4") for name in ("reached", "waits", "skipped", "signals", "hits", "disabled", "chosen")),
        ("reserved", "<u4"),
    ]
)
SHARED_WORD = np.dtype(
    [
        ("offset", "<u8"),
        *((name, "<u4") for name in ("file", "threads", "loads", "stores", "pairs", "load_count", "store_count")),
        ("load_sites", "<u4", (SHARED_SITES,)),
        ("store_sites", "<u4", (SHARED_SITES,)),
        ("reserved", "<u4"),
    ]
)
CANDIDATE = np.dtype(
    [
        ("offset", "<u8"),
        *((name, "<u4") for name in ("file", "size", "load_site", "store_site", "reader", "writer")),
        *((name, "<u4") for name in ("load_occurrence", "store_occurrence")),
    ]
)
BOARD = np.dtype(
    [
        ("plan", PLAN),
        ("syncs", SYNC, (SYNCS,)),
        ("expected", ARRIVAL, (ARRIVALS,)),
        *((name, "<u4") for name in ("process", "stop", "threads", "files")),
        *((name, "<u8") for name in ("switches", "loads", "stores", "inter", "intra")),
        *((name, "<u8") for name in ("inter_dropped", "intra_dropped")),
        *((name, "<u4") for name in ("delays", "aliases", "blocks", "site_count", "shared_count")),
        *((name, "<u4") for name in ("shared_dropped", "candidate_count", "came_count")),
        ("thread_ids", "<u4", (THREADS,)),
        ("inodes", "<u8", (FILES,)),
        ("alias_bitmap", "u1", (BITMAP,)),
        ("block_bitmap", "u1", (BITMAP,)),
        ("came", ARRIVAL, (ARRIVALS,)),
        ("sites", SITE, (SITES,)),
        ("shared", SHARED_WORD, (SHARED,)),
        ("candidates", CANDIDATE, (CANDIDATES,)),
    ]
)

Arrival = tuple[int, int]  # a thread that came back from a call that may take long, and the turn that it had then
Site = tuple[int, int]  # the hash of a module's path, and the offset in it, as in a native frame of a trace


def module_hash(path: str | bytes) -> int:
    """How the board names a module: FNV-1a of its path."""
    number = _FNV_START
    for byte in os.fsencode(path):
        number = (number ^ byte) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return number


@dataclass(frozen=True, slots=True)
class PlannedSync:
    """A sync point: loads that wait until one of the stores has happened and is not yet guaranteed.

    Attributes:
        file, offset, length: the bytes meant, the file by the order of mapping, from 1; 0: any file, any bytes.
        skip: waits that are left out at first.
        privileged: the thread that goes on when all wait; 0: one of them, by the seed.
        reader, writer: threads that wait and signal, by the order of creation, from 1; 0: any.
        load_occurrence, store_occurrence: of the site in its thread, from 1; 0: any.
        tries: stores that signal, from that occurrence on.
    """

    loads: Sequence[Site]
    stores: Sequence[Site]
    file: int = 0
    offset: int = 0
    length: int = 0
    skip: int = 0
    privileged: int = 0
    reader: int = 0
    writer: int = 0
    load_occurrence: int = 0
    store_occurrence: int = 0
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What race mode shall do in one run.

    Attributes:
        delay_us, delay_one_in: with random delays, the longest, and how many accesses there are for each delayed one.
        wait_rounds, wait_ms: how long a reader waits at most; in a round, all others have their turn.
        writer_rounds, writer_ms: the same for a writer that has signalled.
        most_inter, most_intra: candidates that are recorded for each pair of a load and a store.
        run_ms: the program is ended after that; 0: never.
        arrivals: what is to be the same again.
    """

    flags: BoardFlag = BoardFlag.CANDIDATE | BoardFlag.TAINT | BoardFlag.ALIASES
    mode: BoardMode = BoardMode.FREE
    seed: int = 0
    delay_us: int = 200
    delay_one_in: int = 10
    wait_rounds: int = 200
    wait_ms: int = 20_000
    writer_rounds: int = 8
    writer_ms: int = 10_000
    most_inter: int = 64
    most_intra: int = 8
    run_ms: int = 0
    syncs: Sequence[PlannedSync] = field(default=())
    arrivals: Sequence[Arrival] = field(default=())


class Board:
    """A board: written, given to the tracer by its descriptor, read. To be closed."""

    def __init__(self, plan: Plan) -> None:
        self.descriptor = os.memfd_create("powercut-board", os.MFD_CLOEXEC)
        os.truncate(self.descriptor, BOARD.itemsize)
        self._memory = mmap.mmap(self.descriptor, BOARD.itemsize)
        self._write(plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back; arrays that were read from it stay."""
        self._memory.close()
        os.close(self.descriptor)

    def _write(self, plan: Plan) -> None:
        whole = np.zeros((), BOARD)["plan"]
        for name in PLAN.names or ():
            if hasattr(plan, name):
                whole[name] = getattr(plan, name)
        arrivals = np.array(list(plan.arrivals)[:ARRIVALS], "<u4")
        whole["magic"], whole["version"], whole["sync_count"] = MAGIC, VERSION, len(plan.syncs)
        whole["expected_count"] = len(arrivals)
        syncs = np.zeros(SYNCS, SYNC)
        for row, sync in zip(syncs, plan.syncs, strict=False):
            _write_sync(row, sync)
        self._memory[: PLAN.itemsize] = whole.tobytes()
        behind = PLAN.itemsize + syncs.nbytes
        self._memory[PLAN.itemsize : behind] = syncs.tobytes()
        self._memory[behind : behind + arrivals.nbytes] = arrivals.tobytes()

    def read(self) -> Results:
        """What the run has told."""
        return Results(np.frombuffer(self._memory[:], BOARD)[0])


def _write_sync(row: Any, sync: PlannedSync) -> None:
    for name in ("file", "offset", "length", "skip", "privileged", "reader", "writer", "tries"):
        row[name] = getattr(sync, name)
    row["load_occurrence"], row["store_occurrence"] = sync.load_occurrence, sync.store_occurrence
    for name, sites in (("load", sync.loads), ("store", sync.stores)):
        some = list(sites)[:SYNC_SITES]
        row[f"{name}_count"] = len(some)
        row[f"{name}s"][: len(some)] = some


class Results:
    """What a run has told, each number kept inside what it counts."""

    def __init__(self, board: Any) -> None:
        self._board = board

    def __getattr__(self, name: str) -> int:
        """A number of the board: stop, threads, switches, loads, stores, inter, intra, ..."""
        if name.startswith("_") or BOARD.fields is None or name not in BOARD.fields or BOARD.fields[name][0].shape:
            raise AttributeError(name)
        return int(self._board[name])

    @property
    def stopped(self) -> BoardStop:
        """Why the tracer ended the program."""
        return BoardStop(self.stop) if self.stop in set(BoardStop) else BoardStop.RAN

    @property
    def syncs(self) -> Array:
        """The sync points of the plan, with their results (`SYNC`)."""
        return self._some("syncs", int(self._board["plan"]["sync_count"]))

    @property
    def alias_bitmap(self) -> Array:
        """Alias pairs that were met, as bits."""
        return self._some("alias_bitmap", BITMAP)

    @property
    def block_bitmap(self) -> Array:
        """Blocks of code that were met, as bits."""
        return self._some("block_bitmap", BITMAP)

    @cached_property
    def sites(self) -> list[Site]:
        """Instructions; 0 stands for those without room."""
        found = self._some("sites", self.site_count + 1)
        return list(zip(found["module"].tolist(), found["offset"].tolist(), strict=True))

    @property
    def shared(self) -> Array:
        """Words that several threads used (`SHARED_WORD`)."""
        return self._some("shared", self.shared_count)

    @property
    def candidates(self) -> Array:
        """Candidates (`CANDIDATE`): row i is number i + 1."""
        return self._some("candidates", self.candidate_count)

    @property
    def arrivals(self) -> list[Arrival]:
        """Threads that came back from calls that may take long, and their turns."""
        came = self._some("came", self.came_count)
        return list(zip(came["thread"].tolist(), came["turn"].tolist(), strict=True))

    @property
    def thread_ids(self) -> list[int]:
        """The kernel's ids of threads, in the order of their creation."""
        return self._some("thread_ids", self.threads).tolist()  # type: ignore[no-any-return]

    @property
    def inodes(self) -> list[int]:
        """Mapped files, in the order of mapping."""
        return self._some("inodes", self.files).tolist()  # type: ignore[no-any-return]

    def site(self, number: int) -> Site:
        """The site that a table means by a number."""
        return self.sites[number] if number < len(self.sites) else self.sites[0]

    def _some(self, name: str, count: int) -> Array:
        table: Array = self._board[name]
        return table[: min(count, len(table))]

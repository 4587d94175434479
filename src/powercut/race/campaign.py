"""One execution of the program in race mode: a seed, a schedule, the trace, and the board.

Before: a command and where it runs. After: a `Campaign`, whose trace lies in a folder of its own until everybody who
keeps it has let it go.
How the program ended is part of the answer; that it never mapped a file, or never had a second thread, is for others to
say.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from signal import SIGKILL, SIGTERM
from threading import Lock
from types import TracebackType
from typing import Self

import msgspec
import numpy as np

from powercut.oracle.verdict import Outcome
from powercut.quick_dataclass import dataclass
from powercut.race.board import Board, BoardFlag, BoardStop, Plan, Results, Site
from powercut.race.client import Client, free_port, uses_port, with_port
from powercut.race.coverage import Bitmaps
from powercut.race.schedule import Schedule, SyncPoint
from powercut.race.scheduler import PointResult
from powercut.record.execution import Execution, execute
from powercut.record.recorder import RecordOptions
from powercut.trace.layout import Kind, Order

_FLAGS = BoardFlag.CANDIDATE | BoardFlag.TAINT | BoardFlag.ORDER | BoardFlag.ALIASES
_GRACE = 5.0  # seconds that the tracer has to end a program whose time is over, before we do


@dataclass(frozen=True, slots=True)
class SharedCode:
    """Loads and stores that use one word of persistent memory from several threads, and how often."""

    loads: tuple[Site, ...]
    stores: tuple[Site, ...]
    times: int


class Campaign:
    """An execution; its files are there until everybody has let it go."""

    def __init__(
        self, place: Path, execution: Execution, told: Results, seed: bytes, schedule: Schedule, limit: float
    ) -> None:
        self._place = place
        self._told = told
        self.limit = limit
        self._kept = 1
        self._turn = Lock()
        self.execution = execution
        self.seed = seed
        self.schedule = schedule

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.let_go()

    def keep(self) -> None:
        """Somebody more needs its files."""
        with self._turn:
            self._kept += 1

    def let_go(self) -> None:
        """Somebody needs its files no more; the last one removes them. What was read of them stays."""
        with self._turn:
            self._kept -= 1
            unused = self._kept == 0
        if unused:
            shutil.rmtree(self._place, ignore_errors=True)

    @property
    def replay(self) -> Schedule:
        """The schedule that lets threads run in the same order again, as far as that is known."""
        return msgspec.structs.replace(self.schedule, arrivals=tuple(self._told.arrivals))

    @property
    def maps_files(self) -> bool:
        """Whether the program mapped a file of the data folder."""
        return self._told.process != 0

    @property
    def threads(self) -> int:
        """How many threads it had."""
        return self._told.threads

    @property
    def stopped(self) -> BoardStop:
        """Why the tracer ended it."""
        return self._told.stopped

    @property
    def hung(self) -> bool:
        """Whether it was ended because it did not end."""
        return self.stopped is not BoardStop.RAN or self.execution.outcome is Outcome.HANG or self._was_ended

    @property
    def _was_ended(self) -> bool:
        """Whether a process that has no board ended itself, its time being over: one that maps nothing, or a child."""
        killed = self.execution.outcome is Outcome.CRASH and self.execution.code == SIGKILL
        return killed and self.execution.seconds >= self.limit

    @property
    def ending(self) -> str:
        """How it ended, in words that follow a name."""
        if self.stopped is BoardStop.DEADLOCK:
            return "deadlocked"
        if self.stopped is not BoardStop.RAN or self._was_ended:
            return f"did not end within {self.limit:.4g} s"
        return self.execution.ending

    @property
    def bitmaps(self) -> Bitmaps:
        """What it covered."""
        return Bitmaps(self._told.alias_bitmap, self._told.block_bitmap)

    @property
    def points(self) -> list[PointResult]:
        """What became of the sync points."""
        return [PointResult(int(p["hits"]), int(p["reached"]), bool(p["disabled"])) for p in self._told.syncs]

    @cached_property
    def thread_index(self) -> dict[int, int]:
        """Index of each thread, from 1, by the kernel's number."""
        return {number: index for index, number in enumerate(self._told.thread_ids, 1)}

    def shared(self) -> Iterator[SharedCode]:
        """Words that several threads used."""
        for word in self._told.shared:
            loads, stores = (
                tuple(
                    self._told.site(number) for number in word[f"{name}_sites"][: int(word[f"{name}_count"])].tolist()
                )
                for name in ("load", "store")
            )
            yield SharedCode(loads, stores, int(word["loads"]) + int(word["stores"]))

    def meetings(self) -> dict[int, Schedule]:
        """For each candidate, by its number, the schedule that lets the same load meet the same store again."""
        return {number: self._meeting(row) for number, row in enumerate(self._told.candidates, 1)}

    def _meeting(self, row: np.void) -> Schedule:
        point = SyncPoint(
            loads=(self._told.site(int(row["load_site"])),),
            stores=(self._told.site(int(row["store_site"])),),
            **{name: int(row[name]) for name in ("reader", "writer", "load_occurrence", "store_occurrence")},
        )
        return Schedule(mode="sync", seed=self.schedule.seed, points=(point,))

    @property
    def died(self) -> bool:
        """Whether a signal killed it, other than one of ours."""
        return not self.hung and self.execution.outcome is Outcome.CRASH and bool(self.last_places())

    def last_places(self) -> list[int]:
        """Events that say where threads wait for ever, or where a signal came."""
        trace = self.execution.trace
        orders = trace.of_kind(Kind.ORDER)
        found: list[int] = orders[trace.at("extra", orders) == Order.STUCK].tolist()
        return found


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a program is executed again and again.

    Attributes:
        options: as for a recording; output, stdin and boards are each campaign's own.
        scratch: a folder of ours for the files of campaigns.
        limit: seconds that an execution may take.
        client: the command of the client, if the program is a server.
    """

    command: Sequence[str]
    options: RecordOptions
    scratch: Path
    limit: float
    client: Sequence[str] | None = None

    def perform(self, seed: bytes, schedule: Schedule, *, loads: bool = False, limit: float | None = None) -> Campaign:
        """Execute the program once; with `loads`, everything it reads is in the trace; `limit`: a shorter one."""
        limit = self.limit if limit is None else min(limit, self.limit)
        place = Path(tempfile.mkdtemp(prefix="campaign-", dir=self.scratch))
        try:
            (place / "seed").write_bytes(seed)
            plan = Plan(
                flags=_FLAGS | (BoardFlag.LOADS if loads else BoardFlag(0)),
                mode=schedule.board_mode,
                seed=schedule.seed,
                run_ms=max(1, round(1000 * limit)),
                syncs=[point.planned() for point in schedule.points],
                arrivals=schedule.arrivals,
            )
            with Board(plan) as board:
                options = replace(
                    self.options,
                    output=place / "trace",
                    stdin=place / "seed",
                    limit=limit + _GRACE,
                    boards=(("race", board.descriptor),),
                )
                execution = self._execute(place, options, limit)
                return Campaign(place, execution, board.read(), seed, schedule, limit)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise

    def _execute(self, place: Path, options: RecordOptions, limit: float) -> Execution:
        """Execute the program; a server with its client, whose input is the seed, and whose output is what counts."""
        if self.client is None:
            return execute(self.command, options)
        port = free_port() if uses_port([*self.command, *self.client]) else 0
        client = Client(with_port(self.client, port), options.cwd, place / "seed", place / "client.out", limit)
        server = execute(with_port(self.command, port), replace(options, stdin=None, companion=client))
        printed = (client.printed if client.printed.exists() else server.printed[0], server.printed[1])
        ended = client.ended_server and server.outcome is Outcome.CRASH and server.code == SIGTERM
        if client.was_late and server.outcome is Outcome.CRASH and server.code == SIGTERM:
            server = replace(server, outcome=Outcome.HANG)
        elif ended:
            server = replace(server, outcome=Outcome.PASS, code=0)
        if client.failure and server.outcome is Outcome.PASS:
            return replace(server, outcome=Outcome.FAIL, printed=printed, words=f"has a client that {client.failure}")
        return replace(server, printed=printed)

"""Schedules: how the tracer runs the threads of one execution, in a form that is saved and replayed.

Code is named by module and offset, threads by the order of their creation, so that a schedule means the same in the
next run. `board` writes it down for the tracer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import msgspec

from powercut.errors import UsageError
from powercut.race.board import Arrival, BoardMode, PlannedSync, Site
from powercut.runs.store import to_json, write_durably


class SyncPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Loads that wait until one of some stores has happened and is not yet guaranteed.

    Attributes:
        skip: waits that are left out at first.
        privileged: the thread that goes on when all wait; 0: one of them, by the seed.
        reader, writer, load_occurrence, store_occurrence: of one interleaving that is met again; 0: any.
        tries: how many stores are waited for, from `store_occurrence` on.
    """

    loads: tuple[Site, ...]
    stores: tuple[Site, ...]
    skip: int = 0
    privileged: int = 0
    reader: int = 0
    writer: int = 0
    load_occurrence: int = 0
    store_occurrence: int = 0
    tries: int = 1

    def planned(self) -> PlannedSync:
        """The same as the board has it."""
        return PlannedSync(**msgspec.structs.asdict(self))

    @property
    def words(self) -> str:
        """What it does, for people."""
        if not self.load_occurrence:
            return "a load waits for a store of another thread"
        return (
            f"load {self.load_occurrence} of thread {self.reader} waits for store {self.store_occurrence} of thread "
            f"{self.writer}, at these places"
        )


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """How the threads of one execution run.

    Attributes:
        mode: free, as they come; delay, with random delays; sync, by the sync points.
        seed: of all that is random.
        arrivals: which turns threads had that came back from calls that may take long; empty: as they come.
    """

    mode: Literal["free", "delay", "sync"] = "free"
    seed: int = 0
    points: tuple[SyncPoint, ...] = ()
    arrivals: tuple[Arrival, ...] = ()

    @property
    def board_mode(self) -> BoardMode:
        """The mode as the board has it."""
        return BoardMode[self.mode.upper()]

    @property
    def words(self) -> str:
        """What it does, for people."""
        if self.mode == "free":
            return "none: threads run freely"
        if self.mode == "delay":
            return f"random delays, seed {self.seed}"
        return "; ".join(point.words for point in self.points)


def save_schedule(path: Path, schedule: Schedule) -> None:
    """Write a schedule."""
    write_durably(path, to_json(schedule))


def load_schedule(path: Path) -> Schedule:
    """Read a saved schedule, which may hold anything."""
    try:
        return msgspec.convert(json.loads(path.read_bytes()), Schedule)
    except OSError as error:
        raise UsageError("broken-run", f"cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise UsageError("broken-run", f"{path} is not a schedule: {error}.") from error

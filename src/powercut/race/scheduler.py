"""ExecutionScheduler: which execution comes next, as coverage says (PMRace, section 4.2.3).

  - execution tier: the same interleaving again, if that brought something new, or did not come about yet;
  - interleaving tier: the next entry of the queue; each has several turns, in which the stores that are waited for are
    later ones of their thread, because the first ones that are met are often not those that matter;
  - seed tier: the next seed, with a queue of its own, when several interleavings in a row brought nothing new, or a
    seed had many executions: a few alias pairs are new in almost every execution, by chance alone.

The first executions of a seed have no schedule: they fill the queue. With random delays, or without any schedule, there
is no queue, and only executions and seeds change. Several executions may be under way at the same time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

import msgspec

from powercut.quick_dataclass import dataclass
from powercut.race.board import Site
from powercut.race.inputs import Inputs
from powercut.race.queue import Entry, Experience, InterleavingQueue
from powercut.race.schedule import Schedule, SyncPoint

Mode = Literal["pm", "random", "none"]
AGAIN = 1  # times that an interleaving is tried again in its turn
DULL_INTERLEAVINGS = 6  # in a row without anything new, before another seed
MOST_EXECUTIONS = 24  # of one seed, as long as there are others
DULL_EXECUTIONS = 3  # the same where there is no queue
# Which stores are waited for, turn by turn: from this part of all on that a thread executes there. In every second turn
# loads wait, too, each time for another thread (the seed chooses who goes on when all wait); in the others only who has
# stored waits for them.
STORES = (0.0, 0.0, 0.0, 0.5, 0.0, 0.25)
TRIES = 32  # stores that are waited for in one execution: most loads that see one make nothing of it
_NEVER = (1 << 32) - 1  # loads do not wait: the one that stores waits for them


@dataclass(slots=True)
class SeedState:
    """Where the search stands with one seed."""

    seed: bytes
    queue: InterleavingQueue = field(default_factory=lambda: InterleavingQueue(len(STORES)))
    scouted: bool = False
    executions: int = 0
    under_way: int = 0
    dull: int = 0
    new_blocks: int = 0
    executed: Mapping[Site, int] = field(default_factory=dict)  # how often a thread executes a store
    again: deque[Task] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Task:
    """One execution.

    Attributes:
        entry: the interleaving it tries; None for one without.
        tries: how often that was tried before.
    """

    state: SeedState
    schedule: Schedule
    entry: Entry | None = None
    tries: int = 0

    @property
    def is_scout(self) -> bool:
        """Whether it is to fill the queue of its seed."""
        return self.entry is None and self.schedule.mode == "free"


@dataclass(frozen=True, slots=True)
class PointResult:
    """What became of a sync point: loads that met a store, loads that reached it, and whether it was given up."""

    hits: int
    reached: int
    disabled: bool


class ExecutionScheduler:
    """Chooses executions and learns from them."""

    def __init__(self, inputs: Inputs, mode: Mode, number: int) -> None:
        self.experience = Experience()
        self._inputs = inputs
        self._mode = mode
        self._number = number
        self._now: SeedState | None = None

    def next(self) -> Task | None:
        """The next execution; None if there is none, or none before one that is under way has ended."""
        while True:
            if self._now is None:
                seed = self._inputs.next()
                if seed is None:
                    return None
                self._now = SeedState(seed, InterleavingQueue(len(STORES), self.experience))
            state = self._now
            task = None if self._is_dull(state) else self._of(state)
            if task is not None:
                state.under_way += 1
                state.executions += 1
                return task
            if state.under_way and not self._is_dull(state):
                return None
            self._inputs.ended(state.seed, state.new_blocks)
            self._now = None

    def told(self, task: Task, new_aliases: int, new_blocks: int, points: Sequence[PointResult]) -> None:
        """Learn what an execution brought."""
        state, something = task.state, bool(new_aliases or new_blocks)
        state.under_way -= 1
        state.scouted = True
        state.new_blocks += new_blocks
        state.dull = 0 if something else state.dull + 1
        again = _again(task, points, something) if task.entry is not None else None
        if again is not None:
            state.again.append(again)

    def _is_dull(self, state: SeedState) -> bool:
        """Whether another seed is more promising."""
        limit = DULL_INTERLEAVINGS if self._mode == "pm" else DULL_EXECUTIONS
        done = state.dull >= limit or state.executions >= MOST_EXECUTIONS
        return state.scouted and done and self._inputs.has_more

    def _of(self, state: SeedState) -> Task | None:
        if self._mode != "pm":
            return self._task(state, Schedule(mode="delay" if self._mode == "random" else "free"))
        if not state.scouted:
            return self._task(state, Schedule())
        if state.again:
            return state.again.popleft()
        taken = state.queue.take()
        if taken is None:
            return None
        entry, turn = taken
        times = max((state.executed.get(site, 0) for site in entry.stores), default=0)
        store = round(STORES[turn] * times)
        point = SyncPoint(
            loads=tuple(entry.loads),
            stores=tuple(entry.stores),
            store_occurrence=store,
            skip=_NEVER if turn % 2 else 0,
            tries=TRIES,
        )
        return replace(self._task(state, Schedule(mode="sync", points=(point,))), entry=entry)

    def _task(self, state: SeedState, schedule: Schedule) -> Task:
        self._number += 1
        return Task(state, msgspec.structs.replace(schedule, seed=self._number))


def _again(task: Task, points: Sequence[PointResult], something: bool) -> Task | None:
    """The same interleaving again: it brought something new; or no load met a store, so others must wait."""
    if task.tries >= AGAIN or (not something and any(point.hits for point in points)):
        return None
    waiting = tuple(
        msgspec.structs.replace(point, skip=result.reached if result.disabled else point.skip)
        for point, result in zip(task.schedule.points, points, strict=False)
    )
    schedule = msgspec.structs.replace(
        task.schedule, seed=task.schedule.seed + 1, points=waiting or task.schedule.points
    )
    return replace(task, schedule=schedule, tries=task.tries + 1)

"""The behavior in which a crash state happened: for pictures of findings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powercut.arrays import distinct
from powercut.states.behaviors.functions import function_runs
from powercut.states.behaviors.instances import instance_runs
from powercut.states.behaviors.operations import Operations, operations_of
from powercut.states.behaviors.runs import Runs
from powercut.states.behaviors.stacks import Ints
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

MOST = 64  # updates that say what a state is about


def behavior_around(timeline: Timeline, state: State) -> list[int]:
    """The updates of the smallest behavior that holds all in which a state differs, and these.

    A state that lost nothing is about the last update before it.
    """
    about = sorted(timeline.lost(state) if state.base is Base.ISSUED else timeline.kept(state))[:MOST]
    if not about:
        about = [max(timeline.issued(state.point) - 1, 0)] if len(timeline.updates) else []
    operations = operations_of(timeline)
    changes = np.flatnonzero(operations.end > operations.first)
    wanted = changes[np.searchsorted(operations.first[changes], about, side="right") - 1]
    around = [found for runs in _every(operations) if (found := _smallest(runs, wanted)) is not None]
    members = min(around, key=len, default=wanted)
    updates = {update for o in members.tolist() for update in range(operations.first[o], operations.end[o])}
    return sorted(updates.union(about))


def _every(operations: Operations) -> list[Runs]:
    stored = instance_runs(operations)
    return [*function_runs(operations), *([] if stored is None else [stored])]


def _smallest(runs: Runs, wanted: npt.NDArray[np.intp]) -> Ints | None:
    """The operations of the smallest run that holds some; None if there is none."""
    positions = np.flatnonzero(np.isin(runs.order, wanted))
    if len(positions) < len(distinct(wanted)):
        return None
    holding = np.flatnonzero((runs.first <= positions[0]) & (runs.end > positions[-1]))
    if not len(holding):
        return None
    best = holding[np.argmin((runs.end - runs.first)[holding])]
    return runs.order[runs.first[best] : runs.end[best]]

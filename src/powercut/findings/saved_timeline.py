"""Saved states, and the timeline of one: its trace under the model in which the state was found."""

from __future__ import annotations

from dataclasses import replace

from powercut.findings.finding import SavedState
from powercut.model.filesystem import BLOCK, FILE_SYSTEMS, FileSystem
from powercut.model.memory import memory
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace


def timeline_of(trace: Trace, saved: SavedState) -> Timeline:
    """The timeline in which a saved state was found."""
    return Timeline(trace, row_of(saved))


def row_of(saved: SavedState) -> FileSystem:
    """The model of a saved state."""
    row = replace(FILE_SYSTEMS[saved.model], memory=memory(saved.memory))
    return row.torn(saved.piece) if saved.piece < min(row.piece, BLOCK) else row


def saved_state(timeline: Timeline, state: State) -> SavedState:
    """A state of a timeline, as a run keeps it."""
    row, delta = timeline.row, tuple(sorted(state.delta))
    return SavedState(row.name, row.piece, state.point, state.base.value, delta, row.memory.name)

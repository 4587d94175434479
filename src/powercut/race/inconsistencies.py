"""Inconsistencies of a campaign: data that was or could be durable while data it depends on could still be lost.

Before: the accesses of a campaign (`accesses`), which are the tracer's word for it, and a timeline of the same trace.
After: those dependences for which the model has a crash state with the effect and without the store that was read. This
is a check on the tracer: a store that is guaranteed by the time of the effect, or that the effect cannot persist
without (the same cache line), is dropped, however it came into the trace.

PMRace takes a flush for a guarantee and keeps every store in its crash image. Here a guarantee is what the timeline
says, and the state holds exactly what is guaranteed at the effect, the effect, and what that needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from powercut.quick_dataclass import dataclass
from powercut.race.accesses import Accesses, Dependence
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Effect


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """An effect that a crash can leave without what it depends on.

    Attributes:
        store: the event whose bytes were read and can be lost; the latest, if there are several.
        between_threads: another thread than the reader had stored them.
        lost: the updates of the stores that `state` lacks.
        made: the updates of the effect; none for an output.
        state: what is guaranteed at the effect, the effect, and what it needs.
        closing: the last moment at which all of `lost` can still be lost, everything else having happened.
    """

    load: int
    store: int
    effect: tuple[int, ...]
    how: Effect
    between_threads: bool
    lost: tuple[int, ...]
    made: tuple[int, ...]
    state: State
    closing: State


def inconsistencies(timeline: Timeline, accesses: Accesses) -> Iterator[Inconsistency]:
    """Those dependences that a crash can turn into an inconsistency."""
    for dependence in accesses.dependences():
        found = _of(timeline, accesses, dependence)
        if found is not None:
            yield found


def _of(timeline: Timeline, accesses: Accesses, dependence: Dependence) -> Inconsistency | None:
    point = 2 * dependence.effect[-1]
    made = _updates(timeline, dependence.effect)
    if not made and not dependence.how & Effect.OUTPUT:
        return None  # into no file of the data folder, or behind its end
    state = timeline.with_only(made, point)
    lost, store = list[int](), None
    for event in dependence.stores:
        mine = [u for u in _updates(timeline, [event]) if not timeline.survives(state, u)]
        lost += mine
        store = event if mine and store is None else store
    if store is None:
        return None
    return Inconsistency(
        dependence.load,
        store,
        dependence.effect,
        dependence.how,
        accesses.is_between_threads(dependence.load, (store,)),
        tuple(lost),
        tuple(made),
        state,
        _closing(timeline, lost, point),
    )


def _closing(timeline: Timeline, lost: Iterable[int], point: int) -> State:
    """Everything else has happened, and what was read can still be lost: the last moment before its guarantee."""
    last = min(timeline.end, *(timeline.updates.guaranteed[update] - 1 for update in lost))
    return timeline.without(lost, max(point, last))


def _updates(timeline: Timeline, events: Iterable[int]) -> list[int]:
    return [update for event in events for update in timeline.updates_of(event)]

"""What a shrunk failing state shows: what was lost, what came too early, and of what kind that is.

Before: the smallest failing state that was found. After: a story, in which every part was asked for. The kind follows
from questions to the model and the oracle, so that it is the same however much time there was:

- Something was lost. If the state passes once the program's output since then is taken away, it was *acknowledged and
  lost*; the output that matters is the first with which it fails. If the crash came inside the one call that was lost
  in part, the call is *torn*. Otherwise a later change survived, and what was lost is synced too late, or never.
- Nothing was lost: the program was cut off between two calls. If the first moment that fails is that of an output, and
  no earlier image passes with it, it was *said before it was written*. Otherwise two calls must happen together. The
  first is the one before which the state passes; the second is the one after which it passes again, whatever came in
  between.
- Whatever the story: if the recovery died or hung, it is the recovery's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from powercut.findings.finding import FindingKind
from powercut.findings.questions import Oracle, Question
from powercut.findings.repair import next_like, with_call
from powercut.findings.shrink import ONE_BY_ONE
from powercut.minimise import first_failing, gallop
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.states.state import NEVER, Base, State
from powercut.states.timeline import Timeline

_MOST_ALONE = 8  # calls that are tried alone


class Shape(Enum):
    """What went wrong, seen from the state."""

    LOSS = "loss"  # a change was lost, and a later one, or the acknowledgement, was not
    TORN = "torn"  # a part of one call was lost
    SPLIT = "split"  # the program was cut off between two calls that must happen together
    SAID = "said"  # the program was cut off after it had said something and before it wrote it


@dataclass(slots=True)
class Story:
    """A shrunk failing state and what it shows.

    Attributes:
        lost: the updates that had to survive; of a cut, those of the call that had not been made yet.
        partner: the event that must not have come first: a surviving change or an output.
        parts: of a cut, the calls in between that belong to the two; None: all of them.
    """

    number: int
    state: State
    verdict: Verdict
    shape: Shape
    kind: FindingKind
    lost: list[int]
    partner: int | None
    parts: list[int] | None = field(default_factory=list)


class Teller:
    """Finds the stories of shrunk states of one timeline."""

    def __init__(self, number: int, timeline: Timeline, oracle: Oracle) -> None:
        self._number = number
        self._timeline = timeline
        self._oracle = oracle

    def tell(self, state: State, verdict: Verdict) -> Story:
        """The story of a state for which the oracle gave a verdict."""
        parts: list[int] | None = []
        if state.delta:
            shape, kind, lost, partner = self._of_loss(state)
        else:
            lost, parts = self._mending_call(state.point)
            shape, kind, partner = self._of_kill(state)
        return Story(self._number, state, verdict, shape, _or_recovery(kind, verdict), lost, partner, parts)

    def first_guess(self, state: State, verdict: Verdict) -> Story:
        """What can be said without a question."""
        timeline = self._timeline
        lost = timeline.roots(sorted(state.delta)) or self._next_updates(state.point)
        partner = self._survivor(state) if state.delta else self._event_at(state.point)
        shape = Shape.LOSS if state.delta else Shape.SPLIT
        kind = FindingKind.ORDERING if state.delta else FindingKind.ATOMICITY
        return Story(self._number, state, verdict, shape, _or_recovery(kind, verdict), lost, partner)

    # Something was lost

    def _of_loss(self, state: State) -> tuple[Shape, FindingKind, list[int], int | None]:
        timeline = self._timeline
        lost = sorted(state.delta)
        roots = timeline.roots(lost)
        first = int(timeline.event[lost[0]])
        said = self._said(state, 2 * first)
        if said is not None:
            return Shape.LOSS, FindingKind.DURABILITY, roots, said
        survivor = self._survivor(state)
        if survivor is None or survivor == first:
            return Shape.TORN, FindingKind.ATOMICITY, roots, survivor
        never = all(timeline.updates.guaranteed[update] == NEVER for update in roots)
        return Shape.LOSS, FindingKind.UNPERSISTED if never else FindingKind.ORDERING, roots, survivor

    def _survivor(self, state: State) -> int | None:
        """The event that made it fail: the last one before the crash if it changed something, else a survivor."""
        timeline = self._timeline
        later = range(min(state.delta) + 1, timeline.issued(state.point))
        events = {int(timeline.event[update]) for update in later if update not in state.delta}
        last = state.point // 2
        return last if last in events else max(events, default=None)

    def _said(self, state: State, since: int) -> int | None:
        """The output that the check holds the program to: the first, since a time, with which the state fails.

        None if it fails without any.
        """
        said = [time for time in self._timeline.prints if since < time <= state.point]
        if (
            not said
            or not self._oracle.knows_output
            or not self._oracle.passes(self._number, Question(state, since - 1))
        ):
            return None

        def fails(positions: Sequence[int]) -> list[bool]:
            return self._oracle.fails(self._number, [Question(state, said[position]) for position in positions])

        return said[first_failing(len(said), fails)] // 2

    # Nothing was lost

    def _of_kill(self, state: State) -> tuple[Shape, FindingKind, int | None]:
        if state.point not in self._timeline.prints or not self._oracle.knows_output:
            return Shape.SPLIT, FindingKind.ATOMICITY, self._event_at(state.point)
        breaking = self._breaking_call(state.point)  # a moment before, when that was not said, it passed
        if breaking is not None:
            return Shape.SPLIT, FindingKind.ATOMICITY, breaking
        return Shape.SAID, FindingKind.DURABILITY, state.point // 2

    def _breaking_call(self, point: int) -> int | None:
        """The call that breaks what a plain kill at the point of an output leaves, if it is not the output; else None.

        Then it is not what was said that was too early: before that is said, the check does not look. Either an earlier
        image passes though all was said by then; or a kill after the same call fails where it is made again.
        """
        calls = self._timeline.calls(0, point)[::-1]
        found = gallop(
            len(calls), lambda some: self._pass([calls[s] - 1 for s in some], output_until=point), ONE_BY_ONE
        )
        if found < len(calls):
            return calls[found] // 2
        return next((time // 2 for time in calls[:_MOST_ALONE] if self._breaks_again(time // 2, point)), None)

    def _breaks_again(self, call: int, point: int) -> bool:
        """Whether a plain kill right after the next execution of a call fails, and right before it does not."""
        again = next_like(self._timeline, call, point // 2)
        return again is not None and self._pass([2 * again - 1, 2 * again]) == [True, False]

    def _pass(self, times: Sequence[int], output_until: int | None = None) -> list[bool]:
        """Which plain kills pass; `output_until`: the time up to which output counts, if not that of the crash."""
        kills = [Question(State(max(0, time), Base.ISSUED, frozenset()), output_until) for time in times]
        return [not failed for failed in self._oracle.fails(self._number, kills)]

    def _mending_call(self, point: int) -> tuple[list[int], list[int] | None]:
        """The updates of the call after a point with which a plain kill passes again, and the calls that go with it.

        First the moment is found at which it passes; then, of the calls up to there, the first that suffices alone. If
        none does, those up to that moment belong together, without those that can be left out; None: all of them. There
        are none if it never passes.
        """
        timeline = self._timeline
        later = timeline.calls(point + 1, timeline.end)
        found = gallop(len(later), lambda some: self._pass([later[s] for s in some]), ONE_BY_ONE)
        if found == len(later):
            return [], None
        nearest = [time // 2 for time in [*later[: min(found, _MOST_ALONE)], later[found]]]
        here = State(point, Base.ISSUED, frozenset())
        failed = self._oracle.fails(
            self._number, [Question(with_call(timeline, here, call), point) for call in nearest]
        )
        if False in failed:
            call = nearest[failed.index(False)]
            left_out = with_call(timeline, here, call).delta
            between = [time // 2 for time in timeline.calls(point + 1, 2 * call - 1)]
            needed = [event for event in between if not left_out.issuperset(timeline.updates_of(event))]
            return timeline.roots(timeline.updates_of(call)), needed
        return timeline.roots(timeline.updates_of(nearest[-1])), self._parts(point, nearest[-1])

    def _parts(self, point: int, call: int) -> list[int] | None:
        """Of the calls between a point and one that mends it, those that must not be lost either; None: too many.

        The last ones are left out first: what an earlier call wrote may matter only because a later one refers to it.
        """
        between = [time // 2 for time in self._timeline.calls(point + 1, 2 * call - 1)]
        if len(between) > _MOST_ALONE:
            return None
        parts: list[int] = []
        lost: frozenset[int] = frozenset()
        for event in reversed(between):
            without = lost.union(self._timeline.updates_of(event))
            if self._oracle.passes(self._number, Question(State(2 * call, Base.ISSUED, without), point)):
                lost = without
            else:
                parts.append(event)
        return parts[::-1]

    def _next_updates(self, point: int) -> list[int]:
        """The updates of the call that the crash came before."""
        timeline, first = self._timeline, self._timeline.issued(point)
        return list(timeline.updates_of(timeline.updates.event[first])) if first < len(timeline.updates) else []

    def _event_at(self, point: int) -> int | None:
        """The last event by a point that changed something."""
        position = self._timeline.issued(point) - 1
        return int(self._timeline.event[position]) if position >= 0 else None


def _or_recovery(kind: FindingKind, verdict: Verdict) -> FindingKind:
    """A kind, unless the recovery died or hung."""
    return FindingKind.RECOVERY if verdict.outcome in (Outcome.CRASH, Outcome.HANG) else kind

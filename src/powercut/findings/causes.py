"""Root causes that are known: what they explain, on which rows they show, and the fix that holds on all of these.

Before: findings, each with a smallest state and the places that took part. After: a failing state is given back what
the fix of a cause would have saved, or is recognised by its places where no sync helps. A cause knows the rows that
show it. Its fix leaves none of the states that showed it, on any row, or is not called verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from powercut.findings.finding import Finding, Fix, Location
from powercut.findings.fixes import Proposal, propose
from powercut.findings.patience import Over
from powercut.states.rows import Place, Rows
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

_MOST_MENDED = 12  # states for which one fix is looked for


@dataclass(slots=True)
class Remedy:
    """What would help.

    Attributes:
        proposal: the syncs that `fix` is about, if it is about syncs.
        fixed: if the model confirms them, the timelines with these syncs, one for all kin, as far as they were made.
    """

    fix: Fix | None = None
    proposal: Proposal | None = None
    fixed: dict[int, Timeline] = field(default_factory=dict)

    def timeline(self, number: int, timeline: Timeline) -> Timeline | None:
        """A timeline with the syncs in it, made once; None if no syncs are known to help."""
        if self.proposal is None or not self.fixed:
            return None
        if number not in self.fixed:
            self.fixed[number] = self.proposal.on(timeline)
        return self.fixed[number]


@dataclass(slots=True)
class Cause:
    """A finding together with what is needed to recognise its further states.

    Attributes:
        row: the number of the timeline that its kind and its places are from.
        before: the event that must not come first, in front of which a sync would help; None if there is none.
        sites: the calls whose loss shows it, with what they change.
        shown: the timelines that show it, by number, and states of each that a fix must make impossible.
    """

    finding: Finding
    row: int
    before: int | None
    sites: set[tuple[int, int]]
    remedy: Remedy
    shown: dict[int, list[State]] = field(default_factory=dict)


class Causes:
    """What is known about causes on some timelines of one trace."""

    def __init__(self, timelines: Sequence[Timeline], rows: Rows, over: Over) -> None:
        """When it is `over`, no more fixes are tried."""
        self.known: list[Cause] = []
        self._timelines = timelines
        self._rows = rows
        self._over = over

    def repaired(self, cause: Cause, number: int, state: State) -> State | None:
        """The state with all that a cause's fix would have saved; None if it shows a cause that no sync can fix."""
        timeline = self._timelines[number]
        fixed = self._fixed(cause, number)
        if fixed is not None:
            if fixed.is_possible(state):
                return state
            lost = (u for u in timeline.lost(state) if not fixed.is_guaranteed(u, state.point))
            return State(state.point, Base.ISSUED, frozenset(lost))
        sites = sites_of(timeline, timeline.lost(state) or next_updates(timeline, state.point))
        partner = int(timeline.trace.events["stack"][cause.before]) if cause.before is not None else 0
        # What must happen together must do so either way round.
        shows = sites & cause.sites or any(stack == partner != 0 for stack, _ in sites)
        return None if shows else state

    def _fixed(self, cause: Cause, number: int) -> Timeline | None:
        """A timeline with the syncs that help in it; None if none are known to."""
        kin = self._rows.kin(number)
        return cause.remedy.timeline(kin, self._timelines[kin])

    def join(self, cause: Cause, places: Mapping[int, State]) -> None:
        """Note which rows show a cause, in the order in which they were asked for. Its fix must hold there, too."""
        holds = True
        for number, state in places.items():
            fixed = self._fixed(cause, number)
            survives = fixed is not None and fixed.is_possible(state)
            states = cause.shown.setdefault(number, [])
            if survives or not states:
                states.append(state)
            holds = holds and not survives
        cause.finding.models[:] = [self._timelines[number].label for number in sorted(cause.shown)]
        if not holds:
            self._mend(cause)

    def _mend(self, cause: Cause) -> None:
        """Look for a fix that holds for all that shows a cause, where the one that was known does not."""
        places = [(number, state) for number, states in cause.shown.items() for state in states]
        fix = cause.finding.fix
        if cause.before is not None and len(places) <= _MOST_MENDED:
            cause.remedy = self.sync(places, cause.before, cause.finding.locations[-1])
        else:
            cause.remedy = Remedy(replace(fix, verified=False) if fix is not None else None)
        cause.finding.fix = cause.remedy.fix

    def sync(self, places: Sequence[Place], before: int, where: Location) -> Remedy:
        """Syncs in front of an event; verified, if no timeline with them has the state any more that it had."""
        kin = dict.fromkeys((self._rows.kin(number), state) for number, state in places)
        shown = [(number, self._timelines[number], state) for number, state in kin]
        found = propose(shown, before, self._over)
        if found is None:
            return Remedy()
        proposal, fixed = found
        text = f"call {' and '.join(proposal.calls)} before {where.short}"
        return Remedy(Fix(text, bool(fixed)), proposal, fixed)


def sites_of(timeline: Timeline, updates: Sequence[int]) -> set[tuple[int, int]]:
    """Which calls of the program made some updates, and of which kinds these are."""
    stacks, columns = timeline.trace.events["stack"], timeline.updates
    return {(int(stacks[columns.event[update]]), columns.kind[update]) for update in updates}


def next_updates(timeline: Timeline, point: int) -> list[int]:
    """The updates of the call that the crash came before."""
    first = timeline.issued(point)
    if first >= len(timeline.updates):
        return []
    return list(timeline.updates_of(timeline.updates.event[first]))

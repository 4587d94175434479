"""Diagnosis: from failing states to findings, one for each root cause.

Before: states that the oracle refused. After: each of them is explained by a finding: it was shrunk, classified and
given a fix, or it passes once the fixes of earlier findings have saved what they save (or, where no sync can help, it
shows the same two places). Where patience ends first, the finding is the best that is known by then and says so, and a
state that no known cause was shown to explain is counted.

The kind of a finding follows from questions to the model and the oracle, in this order: did the recovery die; does the
image pass once the acknowledgement is taken away; is the state what a plain kill leaves; was one call torn; is the
lost update ever synced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from powercut.findings.finding import Finding, FindingKind, Fix, Location, SavedState
from powercut.findings.fixes import Proposal, propose
from powercut.findings.identity import identify
from powercut.findings.patience import Over, Patience
from powercut.findings.places import Places, place_of
from powercut.findings.shrink import Shrinker
from powercut.findings.wording import advice, message
from powercut.oracle.verdict import Outcome, Verdict
from powercut.states.state import NEVER, Base, State
from powercut.states.timeline import Timeline

# A state, and the point up to which output counts (None: the crash).
Question = tuple[State, int | None]
# Judge states of a timeline until it is over; None: nobody knows.
Judge = Callable[[int, Sequence[Question], Over], list[Verdict | None]]
# The call stack with which the oracle dies on a state.
WhereItDies = Callable[[int, State], tuple[str, ...]]

_MOST_NAMED = 6  # updates named in a finding


@dataclass(slots=True)
class _Cause:
    """A finding together with what is needed to recognise its further states."""

    finding: Finding
    proposal: Proposal | None
    lost_sites: set[tuple[int, int]]
    partner_stack: int
    fixed: dict[int, Timeline]


@dataclass(slots=True)
class _Case:
    """A shrunk failing state and what it shows."""

    timeline: int
    state: State
    verdict: Verdict
    kind: FindingKind
    lost: list[int]  # the updates that had to survive
    partner: int | None  # the event that must not have come first: a surviving change or an output


class Diagnosis:
    """Collects findings.

    Attributes:
        unexplained: failing states for which there was no time.
    """

    def __init__(
        self,
        timelines: Sequence[Timeline],
        places: Places,
        judge: Judge,
        where_it_dies: WhereItDies,
        patience: Patience,
    ) -> None:
        self.findings: list[Finding] = []
        self.unexplained = 0
        self._timelines = timelines
        self._places = places
        self._judge = judge
        self._where_it_dies = where_it_dies
        self._patience = patience
        self._causes: list[_Cause] = []

    def explain(self, number: int, state: State, verdict: Verdict) -> Finding | None:
        """Explain a state that the oracle refuses with a verdict; the finding if it is a new one."""
        self._patience.begin()
        left = self._unexplained(number, state)
        if left is None:
            return None
        refused = verdict if left == state else self._verdict(number, left)
        timeline = self._timelines[number]
        shrinker = Shrinker(timeline, lambda states: self._fails(number, states), self._patience.is_over)
        shrunk = shrinker.shrink(left)
        final = self._verdict(number, shrunk)
        if final is None or final.passed:  # the oracle does not say the same twice: keep the state that it refused
            shrunk, final = (left, refused) if refused is not None else (state, verdict)
        written_out = State(shrunk.point, Base.ISSUED, frozenset(timeline.lost(shrunk)))
        return self._record(self._classify(number, written_out, final))

    def _verdict(self, number: int, state: State) -> Verdict | None:
        return self._judge(number, [(state, None)], self._patience.is_over)[0]

    def _fails(self, number: int, states: Sequence[State]) -> list[bool]:
        """Which of some states are known to fail."""
        verdicts = self._judge(number, [(state, None) for state in states], self._patience.is_over)
        return [verdict is not None and not verdict.passed for verdict in verdicts]

    # Known causes

    def _unexplained(self, number: int, state: State) -> State | None:
        """What is left of a failing state once the known causes are repaired; None if that passes or is not known."""
        for cause in self._causes:
            if self._patience.is_over():
                self.unexplained += 1
                return None
            repaired = self._repaired(cause, number, state)
            if repaired == state:
                continue
            verdict = self._verdict(number, repaired) if repaired is not None else None
            if repaired is not None and verdict is None:
                self.unexplained += 1
                return None
            if repaired is None or verdict is None or verdict.passed:
                cause.finding.occurrences += 1
                self._add_model(cause.finding, number)
                return None
            state = repaired
        return state

    def _repaired(self, cause: _Cause, number: int, state: State) -> State | None:
        """The state with all that a cause's fix would have saved; None if it shows a cause that no sync can fix."""
        timeline = self._timelines[number]
        if cause.proposal is not None and cause.finding.fix is not None and cause.finding.fix.verified:
            fixed = cause.fixed.get(number)
            if fixed is None:
                fixed = cause.fixed[number] = Timeline(timeline.trace, timeline.row, cause.proposal.syncs)
            if fixed.is_possible(state):
                return state
            lost = (u for u in timeline.lost(state) if not fixed.is_guaranteed(u, state.point))
            return State(state.point, Base.ISSUED, frozenset(lost))
        lost_updates = timeline.lost(state) or self._next_updates(timeline, state.point)
        sites = _sites(timeline, lost_updates)
        # What must happen together must do so either way round.
        shows = sites & cause.lost_sites or any(stack == cause.partner_stack != 0 for stack, _ in sites)
        return None if shows else state

    def _add_model(self, finding: Finding, number: int) -> None:
        """Note a model, in the order in which models were asked for, whichever showed it first."""
        found = {*finding.models, self._timelines[number].label}
        finding.models[:] = [timeline.label for timeline in self._timelines if timeline.label in found]

    # Classification

    def _classify(self, number: int, state: State, verdict: Verdict) -> _Case:
        timeline = self._timelines[number]
        lost = timeline.lost(state)
        if not lost:
            return self._classify_kill(number, state, verdict)
        first, last = int(timeline.event[lost[0]]), state.point // 2
        later = [u for u in range(lost[0] + 1, timeline.issued(state.point)) if u not in state.delta]
        partner = self._partner(timeline, later, first, last)
        said = [time // 2 for time in timeline.prints if 2 * first < time <= state.point]
        if said and self._passes_unsaid(number, state, first):
            kind, partner = FindingKind.DURABILITY, said[-1]
        elif not later:
            kind = FindingKind.ATOMICITY
            partner = self._previous_event(timeline, first)
        elif partner == first:
            kind = FindingKind.ATOMICITY
        elif all(timeline.updates.guaranteed[u] == NEVER for u in lost):
            kind = FindingKind.UNPERSISTED
        else:
            kind = FindingKind.ORDERING
        kind = _died(verdict) or kind
        return _Case(number, state, verdict, kind, _roots(timeline, lost, state.point), partner)

    def _classify_kill(self, number: int, state: State, verdict: Verdict) -> _Case:
        """Nothing was lost: the program was killed between two calls, and that alone fails."""
        timeline = self._timelines[number]
        following = self._next_updates(timeline, state.point)
        partner = self._previous_event(timeline, state.point // 2 + 1)
        kind = _died(verdict) or FindingKind.ATOMICITY
        return _Case(number, state, verdict, kind, following, partner)

    def _passes_unsaid(self, number: int, state: State, first: int) -> bool:
        verdict = self._judge(number, [(state, 2 * first - 1)], self._patience.is_over)[0]
        return verdict is not None and verdict.passed

    @staticmethod
    def _partner(timeline: Timeline, later: list[int], first: int, last: int) -> int | None:
        """The event that made it fail: the last one before the crash if it changed something, else a survivor."""
        events = {int(timeline.event[u]) for u in later}
        if not events:
            return None
        return last if last in events else max(events)

    @staticmethod
    def _previous_event(timeline: Timeline, before: int) -> int | None:
        position = int(timeline.event.searchsorted(before)) - 1
        return int(timeline.event[position]) if position >= 0 else None

    @staticmethod
    def _next_updates(timeline: Timeline, point: int) -> list[int]:
        """The updates of the call that the crash came before."""
        first = timeline.issued(point)
        if first >= len(timeline.updates):
            return []
        return list(timeline.updates_of(timeline.updates.event[first]))

    # Recording

    def _record(self, case: _Case) -> Finding | None:
        locations = self._locations(case)
        name = identify(case.kind.value, locations)
        known = next((cause for cause in self._causes if cause.finding.id == name), None)
        if known is not None:  # its fix, which takes longest, is known as well
            self._again(known, case)
            return None
        proposal, fix = self._fix(case, locations)
        finding = self._finding(case, name, locations, fix)
        known = next((cause for cause in self._causes if _die_alike(cause.finding, finding)), None)
        if known is not None:
            self._again(known, case)
            return None
        timeline = self._timelines[case.timeline]
        stacks = timeline.trace.events["stack"]
        partner = int(stacks[case.partner]) if case.partner is not None else 0
        self._causes.append(_Cause(finding, proposal, _sites(timeline, case.lost), partner, {}))
        self._add_model(finding, case.timeline)
        self.findings.append(finding)
        return finding

    def _again(self, known: _Cause, case: _Case) -> None:
        """One more state of a known cause."""
        known.finding.occurrences += 1
        self._add_model(known.finding, case.timeline)
        known.lost_sites |= _sites(self._timelines[case.timeline], case.lost)

    def _finding(self, case: _Case, name: str, locations: list[Location], fix: Fix | None) -> Finding:
        timeline = self._timelines[case.timeline]
        finding = Finding(
            id=name,
            kind=case.kind,
            message="",
            locations=locations,
            fix=fix,
            lost=[timeline.describe(u) for u in timeline.lost(case.state)[:_MOST_NAMED]],
            survived=self._survivors(case),
            state=_saved(timeline, case.state),
            outcome=case.verdict.outcome.value,
            code=case.verdict.code,
            output=case.verdict.output,
        )
        finding.message = message(finding)
        if case.verdict.outcome is Outcome.CRASH and not self._patience.is_over():
            finding.recovery = self._where_it_dies(case.timeline, case.state)
        finding.cut_short = self._patience.is_over()
        return finding

    def _fix(self, case: _Case, locations: Sequence[Location]) -> tuple[Proposal | None, Fix | None]:
        timeline = self._timelines[case.timeline]
        lost = timeline.lost(case.state)
        survived_first = case.kind in (FindingKind.ATOMICITY, FindingKind.RECOVERY) and (
            not lost or case.partner is None or case.partner <= int(timeline.event[lost[0]])
        )
        if survived_first or case.partner is None:
            stored = any(timeline.updates.obj[update] in timeline.in_lines for update in case.lost)
            return None, self._swap(case) or Fix(advice(stored=stored), False)
        found = propose(timeline, case.state, case.lost, case.partner, self._patience.is_over)
        if found is None:
            return None, None
        proposal, verified = found
        return proposal, Fix(f"call {' and '.join(proposal.calls)} before {locations[-1].short}", verified)

    def _swap(self, case: _Case) -> Fix | None:
        """Ask whether the two calls would be safe the other way round: the later one alone, without the earlier.

        That image is one of another program, not a crash state of this one: the model's order does not bind it.
        """
        timeline = self._timelines[case.timeline]
        if case.partner is None or not case.lost:
            return None
        later = int(timeline.event[case.lost[0]])
        earlier = frozenset(timeline.updates_of(case.partner))
        if case.partner >= later or any(timeline.is_guaranteed(u, 2 * later) for u in earlier):
            return None
        if timeline.overlap(case.partner, later):  # the other order would not end in the same folder
            return None
        verdict = self._verdict(case.timeline, State(2 * later, Base.ISSUED, earlier))
        if verdict is None or not verdict.passed:
            return None
        first, second = (self._places.location(event, "", "").short for event in (later, case.partner))
        return Fix(f"do {first} first, sync it, and only then do {second}", True, "check")

    def _locations(self, case: _Case) -> list[Location]:
        timeline = self._timelines[case.timeline]
        locations: list[Location] = []
        for update in case.lost:
            location = self._places.of_update(timeline, update, "lost")
            if all((location.file, location.line) != (known.file, known.line) for known in locations):
                locations.append(location)
        del locations[_MOST_NAMED:]
        if case.partner is not None:
            if any(index == case.partner for index, _ in timeline.outputs):
                locations.append(self._places.of_output(timeline, case.partner))
            else:
                update = timeline.updates_of(case.partner)[0]
                locations.append(self._places.of_update(timeline, update, "survived"))
                self._part(locations, int(timeline.event[case.lost[0]]) if case.lost else case.partner, case.partner)
        return locations

    def _part(self, locations: list[Location], lost: int, survived: int) -> None:
        """Two places on one line (a function that writes for others) are named by the callers that differ."""
        first, last = locations[0], locations[-1]
        if len(locations) != 2 or (first.file, first.line) != (last.file, last.line):
            return
        frames = self._places.apart(lost, survived)
        if frames is not None:
            for position, (frame, event) in enumerate(zip(frames, (lost, survived), strict=True)):
                known = locations[position]
                locations[position] = place_of(frame, self._places.frames(event), known.role, known.what)

    def _survivors(self, case: _Case) -> list[str]:
        timeline = self._timelines[case.timeline]
        return [timeline.describe(u) for u in timeline.kept(case.state)[-_MOST_NAMED:]]


def _died(verdict: Verdict) -> FindingKind | None:
    return FindingKind.RECOVERY if verdict.outcome in (Outcome.CRASH, Outcome.HANG) else None


def _die_alike(known: Finding, new: Finding) -> bool:
    """Whether two findings have one root cause: a recovery that dies in one place for no sync."""
    synced = any(f.fix is not None and f.fix.verified and f.fix.by == "model" for f in (known, new))
    return bool(new.recovery) and known.recovery == new.recovery and not synced


def _roots(timeline: Timeline, lost: list[int], point: int) -> list[int]:
    """The lost updates that are not merely lost because another one is."""
    gone = set(lost)
    roots = [u for u in lost if not gone.intersection(timeline.needs(u))]
    return roots or lost


def _sites(timeline: Timeline, updates: Sequence[int]) -> set[tuple[int, int]]:
    """Which calls of the program made some updates, and of which kinds these are."""
    stacks, columns = timeline.trace.events["stack"], timeline.updates
    return {(int(stacks[columns.event[update]]), columns.kind[update]) for update in updates}


def _saved(timeline: Timeline, state: State) -> SavedState:
    row, delta = timeline.row, tuple(sorted(state.delta))
    return SavedState(row.name, row.piece, state.point, state.base.value, delta, row.memory.name)

"""Diagnosis: from failing states to findings, one for each root cause.

Before: states that the oracle refused. After: each of them is explained by a finding: it was shrunk, classified and
given a fix, or it passes once the fixes of earlier findings have saved what they save (or, where no sync can help, it
shows the same two places). Where patience ends first, the finding is the best that is known by then and says so, and a
state that no known cause was shown to explain is counted.

Rows are explained together. A state that several rows can leave is explained on the first of them, so that a finding is
the same whichever row shows it first; it names all rows that are known to show it, and its fix holds on all of them.

The kind of a finding follows from questions to the model and the oracle, in this order: did the recovery die; does the
image pass once the acknowledgement is taken away; is the state what a plain kill leaves; was one call torn; is the
lost update ever synced.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from powercut.findings.causes import Cause, Causes, Remedy, next_updates, sites_of
from powercut.findings.finding import Finding, FindingKind, Fix, Location, SavedState
from powercut.findings.fixes import roots_of
from powercut.findings.identity import identify
from powercut.findings.patience import Over, Patience
from powercut.findings.places import Places, place_of
from powercut.findings.shrink import Shrinker
from powercut.findings.wording import advice, message
from powercut.oracle.verdict import Outcome, Verdict
from powercut.states.rows import Rows
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
        rows: Rows | None = None,
    ) -> None:
        """`rows`: what the timelines have in common; without, only those that are the same have states in common."""
        self.findings: list[Finding] = []
        self.unexplained = 0
        self._timelines = timelines
        self._places = places
        self._judge = judge
        self._where_it_dies = where_it_dies
        self._patience = patience
        self._rows = rows or Rows(timelines, lambda number, state: (number, state))
        self._causes = Causes(timelines, self._rows, patience.is_over)
        self._explained: dict[Hashable, Cause] = {}

    def explain(self, number: int, state: State, verdict: Verdict, image: Hashable = None) -> list[Finding]:
        """Explain a state that the oracle refuses with a verdict; the findings that are new.

        `image` stands for what the state holds and owes: what was explained on this row before is not asked about.
        """
        self._patience.begin()
        known = self._explained.get(image)
        if known is not None and number in known.shown:
            known.finding.occurrences += 1
            return []
        found = len(self.findings)
        state = _written_out(self._timelines[number], state)
        places = self._everywhere(number, state)
        cause = self._cause(min(places), places[min(places)], verdict)
        if cause is not None and number not in cause.shown:  # there it led to what only the first row can leave
            cause = self._cause(number, state, verdict)
        if cause is None:
            self.unexplained += 1
        elif image is not None:
            self._explained[image] = cause
        return self.findings[found:]

    def _everywhere(self, number: int, state: State) -> dict[int, State]:
        """The states that hold the same, by the number of the timeline that can leave them."""
        return {number: state, **dict(self._rows.elsewhere(number, state))}

    def _cause(self, number: int, state: State, verdict: Verdict) -> Cause | None:
        """What explains a failing state, known or new; None if there was no time."""
        left, known = self._unexplained(number, state)
        if left is None:
            return known
        refused = verdict if left == state else self._verdict(number, left)
        timeline = self._timelines[number]
        shrinker = Shrinker(timeline, lambda states: self._fails(number, states), self._patience.is_over)
        shrunk = shrinker.shrink(left)
        final = self._verdict(number, shrunk)
        if final is None or final.passed:  # the oracle does not say the same twice: keep the state that it refused
            shrunk, final = (left, refused) if refused is not None else (state, verdict)
        return self._record(self._classify(number, _written_out(timeline, shrunk), final))

    def _verdict(self, number: int, state: State) -> Verdict | None:
        return self._judge(number, [(state, None)], self._patience.is_over)[0]

    def _fails(self, number: int, states: Sequence[State]) -> list[bool]:
        """Which of some states are known to fail."""
        verdicts = self._judge(number, [(state, None) for state in states], self._patience.is_over)
        return [verdict is not None and not verdict.passed for verdict in verdicts]

    # Known causes

    def _unexplained(self, number: int, state: State) -> tuple[State | None, Cause | None]:
        """What is left of a failing state once the known causes are repaired; if nothing is, the last of them.

        Neither if there was no time to see.
        """
        for cause in self._causes.known:
            if self._patience.is_over():
                return None, None
            repaired = self._causes.repaired(cause, number, state)
            if repaired == state:
                continue
            verdict = self._verdict(number, repaired) if repaired is not None else None
            if repaired is not None and verdict is None:
                return None, None
            if repaired is None or verdict is None or verdict.passed:
                cause.finding.occurrences += 1
                self._causes.join(cause, self._twins(number, state))
                return None, cause
            state = repaired
        return state, None

    def _twins(self, number: int, state: State) -> dict[int, State]:
        """A state of all timelines that have the same states as one."""
        return dict.fromkeys(self._rows.twins(number), state)

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
        return _Case(number, state, verdict, kind, roots_of(timeline, lost), partner)

    def _classify_kill(self, number: int, state: State, verdict: Verdict) -> _Case:
        """Nothing was lost: the program was killed between two calls, and that alone fails."""
        timeline = self._timelines[number]
        following = next_updates(timeline, state.point)
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

    # Recording

    def _record(self, case: _Case) -> Cause:
        """The cause that a case shows, known or new."""
        locations = self._locations(case)
        places = self._everywhere(case.timeline, case.state)
        known = next((cause for cause in self._causes.known if _same_places(cause, case, locations)), None)
        if known is not None:  # its fix, which takes longest, is known as well
            return self._again(known, case, places)
        remedy = self._remedy(case, locations, places)
        finding = self._finding(case, identify(case.kind.value, locations), locations, remedy.fix)
        known = next((cause for cause in self._causes.known if _die_alike(cause.finding, finding)), None)
        if known is not None:
            return self._again(known, case, places)
        sites = sites_of(self._timelines[case.timeline], case.lost)
        cause = Cause(finding, case.timeline, case.partner, sites, remedy)
        self._causes.known.append(cause)
        self._causes.join(cause, places)
        self.findings.append(finding)
        return cause

    def _again(self, known: Cause, case: _Case, places: Mapping[int, State]) -> Cause:
        """One more state of a known cause."""
        known.finding.occurrences += 1
        known.sites |= sites_of(self._timelines[case.timeline], case.lost)
        self._causes.join(known, places)
        return known

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

    def _remedy(self, case: _Case, locations: Sequence[Location], places: Mapping[int, State]) -> Remedy:
        """What would help: a sync, on all rows that show it, or another order, or advice."""
        timeline = self._timelines[case.timeline]
        lost = timeline.lost(case.state)
        survived_first = case.kind in (FindingKind.ATOMICITY, FindingKind.RECOVERY) and (
            not lost or case.partner is None or case.partner <= int(timeline.event[lost[0]])
        )
        if survived_first or case.partner is None:
            stored = any(timeline.updates.obj[update] in timeline.in_lines for update in case.lost)
            return Remedy(self._swap(case) or Fix(advice(stored=stored), False))
        return self._causes.sync([*places.items()], case.partner, locations[-1])

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


def _written_out(timeline: Timeline, state: State) -> State:
    """A state by what it lacks. So it can be compared with timelines that guarantee more."""
    return State(state.point, Base.ISSUED, frozenset(timeline.lost(state)))


def _died(verdict: Verdict) -> FindingKind | None:
    return FindingKind.RECOVERY if verdict.outcome in (Outcome.CRASH, Outcome.HANG) else None


def _die_alike(known: Finding, new: Finding) -> bool:
    """Whether two findings have one root cause: a recovery that dies in one place for no sync."""
    synced = any(f.fix is not None and f.fix.verified and f.fix.by == "model" for f in (known, new))
    return bool(new.recovery) and known.recovery == new.recovery and not synced


def _same_places(cause: Cause, case: _Case, locations: Sequence[Location]) -> bool:
    """Whether a case shows a known cause: in the same places, the same went wrong.

    Whether what was lost is synced too late or never is a question of the row: on one any sync commits a journal that
    all names go through, on another it does not.
    """
    kinds = {cause.finding.kind, case.kind}
    elsewhere = case.timeline != cause.row and kinds <= {FindingKind.ORDERING, FindingKind.UNPERSISTED}
    if len(kinds) > 1 and not elsewhere:
        return False
    return identify("", locations) == identify("", cause.finding.locations)


def _saved(timeline: Timeline, state: State) -> SavedState:
    row, delta = timeline.row, tuple(sorted(state.delta))
    return SavedState(row.name, row.piece, state.point, state.base.value, delta, row.memory.name)

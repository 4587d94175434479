"""Diagnosis: from failing states to findings, one for each root cause.

Before: states that the oracle refused. After: each of them belongs to findings, because the oracle said so: it passes
once what their causes lost is given back, or what they cut off is added. What is left of a state when the known causes
are taken out of it is shrunk and told as a new cause, until nothing is left. What could not be decided in time is set
aside, to be tried again while there is time, and otherwise counted as unexplained: it is never attributed.

A finding that was cut short is provisional: it is shown, but it explains nothing and no baseline knows it.

Rows are explained together. A state that several rows can leave is explained on the first of them, so that a finding is
the same whichever row shows it first; it names all rows that are known to show it, and its fix holds on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from powercut.findings.advice import Adviser
from powercut.findings.causes import Cause, Causes, Remedy
from powercut.findings.culprits import Culprits
from powercut.findings.explaining_time import ExplainingTime
from powercut.findings.finding import Finding, Location
from powercut.findings.identity import PROVISIONAL, identify
from powercut.findings.places import Places
from powercut.findings.questions import Judge, Mending, Oracle, OutOfTime, Question
from powercut.findings.saved_timeline import saved_state
from powercut.findings.shrink import Shrinker
from powercut.findings.story import Shape, Story, Teller
from powercut.findings.wording import message
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.states.timelines import Rows

# The call stack with which the oracle dies on a state.
WhereItDies = Callable[[int, State], tuple[str, ...]]

_MOST_NAMED = 6  # updates named in a finding
_MOST_CAUSES = 12  # new causes that one state may show


@dataclass(slots=True)
class _SetAside:
    """A failing state for which there was no time, or that waits for better examples of what it shows."""

    number: int
    state: State
    verdict: Verdict
    image: Hashable


class _PoorExample(Exception):
    """What is left of a state lies inside what a known cause cuts off: no crash shows it alone."""


class Diagnosis:
    """Collects findings."""

    def __init__(
        self,
        timelines: Sequence[Timeline],
        places: Places,
        judge: Judge,
        where_it_dies: WhereItDies,
        explaining_time: ExplainingTime,
        rows: Rows | None = None,
        *,
        knows_output: bool = True,
    ) -> None:
        """`rows`: what the timelines have in common; without, only those that are the same have states in common.

        `knows_output`: whether the oracle knows what the program printed.
        """
        self._timelines = timelines
        self._places = places
        self._oracle = Oracle(judge, explaining_time, knows_output=knows_output)
        self._where_it_dies = where_it_dies
        self._explaining_time = explaining_time
        self._rows = rows or Rows(timelines, lambda number, state: (number, state))
        self._causes = Causes(timelines, self._rows, self._oracle)
        self._without_known = Mending(self._oracle, lambda number, question: self._causes.take_out(number, question)[0])
        self._culprits = Culprits(places, timelines[0])
        self._adviser = Adviser(timelines, places, self._oracle, self._causes)
        self._explained: dict[Hashable, list[Cause]] = {}
        self._looked_at: set[tuple[int, State]] = set()
        self._set_aside: list[_SetAside] = []
        self._takes_any_example = False
        self._provisional: Finding | None = None
        self._given_up = 0

    @property
    def findings(self) -> list[Finding]:
        """What was found: one for each cause; if none is known yet, the best that can be said."""
        found = [cause.finding for cause in self._causes.known]
        return found or ([self._provisional] if self._provisional is not None else [])

    @property
    def unexplained(self) -> int:
        """Failing states that belong to no finding, as far as is known."""
        return self._given_up + len(self._set_aside)

    @property
    def waiting(self) -> int:
        """How many states wait for more time."""
        return len(self._set_aside)

    def explain(self, number: int, state: State, verdict: Verdict, image: Hashable = None) -> list[Finding]:
        """Explain a state that the oracle refuses with a verdict; the findings that are new.

        `image` stands for what the state holds and owes: what was explained on this row before is not asked about.
        """
        self._explaining_time.begin()
        known = self._explained.get(image)
        if known is not None and all(number in cause.shown for cause in known):
            _count(known)
            return []
        before = len(self._causes.known)
        state = _written_out(self._timelines[number], state)
        try:
            causes = self._causes_of(number, state, verdict)
        except (OutOfTime, _PoorExample):
            self._set_aside.append(_SetAside(number, state, verdict, image))
        else:
            if image is not None and causes:
                self._explained[image] = causes
            self._given_up += not causes
        return [cause.finding for cause in self._causes.known[before:]]

    def try_again(self) -> list[Finding]:
        """Go on with a state that was set aside; the findings that are new. There are no better examples to come."""
        waiting = self._set_aside.pop(0)
        self._provisional = None
        self._takes_any_example = True
        return self.explain(waiting.number, waiting.state, waiting.verdict, waiting.image)

    def _causes_of(self, number: int, state: State, verdict: Verdict) -> list[Cause]:
        """All that a failing state shows, on the first row that can leave it, or else on its own."""
        places = self._everywhere(number, state)
        first = min(places)
        causes = self._take_apart(first, places[first], verdict)
        if any(number not in cause.shown for cause in causes):  # there it led to what only the first row can leave
            causes = self._take_apart(number, state, verdict)
        return causes

    def _everywhere(self, number: int, state: State) -> dict[int, State]:
        """The states that hold the same, by the number of the timeline that can leave them."""
        return {number: state, **dict(self._rows.elsewhere(number, state))}

    def _take_apart(self, number: int, state: State, verdict: Verdict) -> list[Cause]:
        """The causes that a failing state belongs to, known and new; none if that cannot be told."""
        new: list[Cause] = []
        learned: dict[str, int] = {}
        for _ in range(_MOST_CAUSES):
            left, touched = self._causes.take_out(number, Question(state))
            if touched and self._oracle.passes(number, left):
                return self._attribute(number, state, touched, new)
            start = left if touched and self._is_real(number, left) else Question(state)
            if left.state.point != start.state.point and state.delta and not self._takes_any_example:
                raise _PoorExample
            cause = self._new_cause(number, start, verdict)
            if cause is None or learned.get(cause.finding.id) == cause.learned:
                left, touched = self._causes.take_out(number, Question(state), wider=True)
                if touched and self._oracle.passes(number, left):
                    return self._attribute(number, state, touched, new)
                break
            learned[cause.finding.id] = cause.learned
            new += [cause] if cause not in new else []
            if left.state == cause.story.state and not touched:  # nothing was left to give back, nothing else to ask
                return new
        return []

    def _attribute(self, number: int, state: State, touched: list[Cause], new: list[Cause]) -> list[Cause]:
        """Count a state that passes without some causes: for one that suffices, or else for all of them."""
        if len(touched) > 1:
            timeline = self._timelines[number]
            alone = [(cause, cause.repair(timeline, Question(state))) for cause in touched]
            fails = self._oracle.fails(number, [question for _, question in alone])
            touched = next(([cause] for (cause, _), fail in zip(alone, fails, strict=True) if not fail), touched)
        _count([cause for cause in touched if cause not in new])
        if len(touched) == 1:
            self._causes.join(touched[0], dict.fromkeys(self._rows.twins(number), state))
        for cause in touched:
            self._look_before_the_sync(cause, number, state)
        return touched

    def _look_before_the_sync(self, cause: Cause, number: int, state: State) -> None:
        """What a missing sync explains may fail before that sync, too: then it shows another cause."""
        early = self._causes.too_early_for_it(cause, number, state)
        if early is None or (number, early) in self._looked_at:
            return
        verdict = self._oracle.verdict(number, Question(early))
        self._looked_at.add((number, early))
        if not verdict.passed:
            self._take_apart(number, early, verdict)

    # A new cause

    def _new_cause(self, number: int, question: Question, verdict: Verdict) -> Cause | None:
        """The cause of what is left of a failing state; None if the oracle takes back what it said."""
        timeline = self._timelines[number]
        shrinker = Shrinker(
            number, timeline, self._oracle, question, lambda some: self._causes.take_out(number, some)[0]
        )
        try:
            shrunk = self._real(number, shrinker.shrink())
            final = self._oracle.verdict(number, Question(shrunk))
            if final.passed:  # the oracle does not say the same twice: keep the state that it refused
                shrunk, final = question.state, self._oracle.verdict(number, question)
                if final.passed:
                    return None
            story = Teller(number, timeline, self._without_known).tell(shrunk, final)
            return self._record(story)
        except OutOfTime:
            self._provisional = self._provisional or self._first_answer(number, shrinker.best.state, verdict)
            raise

    def _real(self, number: int, question: Question) -> State:
        """The state that is told: without the known causes, if a crash can leave that with that output."""
        mended, _ = self._causes.take_out(number, question)
        state = mended.state if self._is_real(number, mended) else question.state
        return _written_out(self._timelines[number], state)

    def _is_real(self, number: int, question: Question) -> bool:
        """Whether a crash can leave a state with the output that is asked about."""
        all_said = question.output_ends >= question.state.point and not question.unsaid
        return all_said and self._timelines[number].is_possible(question.state)

    def _first_answer(self, number: int, state: State, verdict: Verdict) -> Finding:
        """The best that is known when time ends."""
        timeline = self._timelines[number]
        story = Teller(number, timeline, self._oracle).first_guess(_written_out(timeline, state), verdict)
        finding = self._finding(story, f"{PROVISIONAL}{len(self._causes.known) + 1}", self._locations(story))
        finding.models[:] = [timeline.label]
        finding.cut_short = True
        finding.message = message(finding)
        return finding

    def _record(self, story: Story) -> Cause:
        """The cause that a story tells, known or new."""
        locations = self._locations(story)
        places = self._everywhere(story.number, story.state)
        name = identify(story.shape.value, _telling(story, locations))
        known = next((cause for cause in self._causes.known if cause.finding.id == name), None)
        finding = self._finding(story, name, locations)
        if known is None and story.verdict.outcome is Outcome.CRASH:
            self._oracle.look_at_the_clock()
            finding.recovery = self._where_it_dies(story.number, story.state)
            known = next((cause for cause in self._causes.known if _die_alike(cause, story, finding)), None)
        if known is not None:
            known.finding.occurrences += 1
            self._causes.extend(known, story, places)
            return known
        remedy = self._remedy(story, locations, places)
        finding.fix = remedy.fix
        self._provisional = None
        return self._causes.add(finding, story, remedy, places)

    def _remedy(self, story: Story, locations: Sequence[Location], places: Mapping[int, State]) -> Remedy:
        """What would help, as far as there is time to see: the finding itself is known by now."""
        try:
            return self._adviser.remedy(story, locations, [*places.items()])
        except OutOfTime:
            return Remedy()

    def _finding(self, story: Story, name: str, locations: list[Location]) -> Finding:
        timeline = self._timelines[story.number]
        finding = Finding(
            id=name,
            kind=story.kind,
            message="",
            locations=locations,
            fix=None,
            lost=[timeline.describe(u) for u in timeline.lost(story.state)[:_MOST_NAMED]],
            survived=[timeline.describe(u) for u in timeline.kept(story.state)[-_MOST_NAMED:]],
            state=saved_state(timeline, story.state),
            outcome=story.verdict.outcome.value,
            code=story.verdict.code,
            output=story.verdict.output,
        )
        finding.message = message(finding)
        return finding

    def _locations(self, story: Story) -> list[Location]:
        timeline = self._timelines[story.number]
        said = any(index == story.partner for index, _ in timeline.outputs)
        role = "lost" if timeline.lost(story.state) else "missing"
        synced = story.shape is Shape.LOSS
        torn = {int(timeline.event[update]) for update in story.lost} == {story.partner} and role == "lost"
        locations: list[Location] = []
        for update in story.lost:
            event = int(timeline.event[update])
            what = self._part(story, event, survived=False) if torn else timeline.describe_call(event)
            location = self._culprits.of_call(event, role, what, story.partner, synced=synced)
            if all((location.file, location.line) != (known.file, known.line) for known in locations):
                locations.append(location)
        del locations[_MOST_NAMED:]
        if story.partner is not None and said:
            locations.append(self._culprits.of_output(story.partner))
        elif story.partner is not None:
            other = int(timeline.event[story.lost[0]]) if story.lost else None
            what = self._part(story, story.partner, survived=True) if torn else ""
            locations.append(self._culprits.of_call(story.partner, "survived", what, other))
            self._culprits.part(locations, other, story.partner)
        return locations

    def _part(self, story: Story, event: int, *, survived: bool) -> str:
        """What survived, or did not, of a call that is torn."""
        timeline = self._timelines[story.number]
        updates = [u for u in timeline.updates_of(event) if timeline.survives(story.state, u) == survived]
        return timeline.describe_part(updates)


def _telling(story: Story, locations: Sequence[Location]) -> list[Location]:
    """The places that tell a cause from others.

    What must be synced is to blame, whatever shows that it was not: another call that survived, or another output.
    Where two calls must happen together, both are.
    """
    if story.shape not in (Shape.LOSS, Shape.TORN):
        return list(locations)
    lost = [location for location in locations if location.role == "lost"]
    return sorted(lost, key=lambda location: (str(location), location.detail)) or list(locations)


def _count(causes: Sequence[Cause]) -> None:
    for cause in causes:
        cause.finding.occurrences += 1


def _written_out(timeline: Timeline, state: State) -> State:
    """A state by what it lacks. So it can be compared with timelines that guarantee more."""
    return State(state.point, Base.ISSUED, frozenset(timeline.lost(state)))


def _die_alike(known: Cause, story: Story, finding: Finding) -> bool:
    """Whether two stories have one root cause: a recovery that dies in one place though nothing is lost."""
    cut = all(shape in (Shape.SPLIT, Shape.TORN) for shape in (known.story.shape, story.shape))
    return cut and bool(finding.recovery) and known.finding.recovery == finding.recovery

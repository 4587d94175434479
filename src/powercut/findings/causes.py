"""Root causes that are known: what they explain, on which rows they show, and the fix that holds for all that was seen.

Before: findings, each with a smallest state and the story that it tells. After: a failing state is taken apart into the
known causes, each of which is repaired in it; whether it belongs to them, the oracle says. A cause knows the rows that
show it and the states that were seen. Its fix leaves none of these states, on any row, or it is a suggestion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from powercut.findings.finding import Finding, Fix, Location
from powercut.findings.fixes import Proposal, propose, tried
from powercut.findings.questions import Oracle, OutOfTime, Question
from powercut.findings.repair import (
    Complete,
    GiveBack,
    GoOn,
    Repair,
    SayLater,
    SyncScope,
    executions_between,
    next_like,
    site_of,
)
from powercut.findings.story import Shape, Story
from powercut.findings.targets import Target, target_of
from powercut.quick_dataclass import dataclass
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.states.timelines import Place, Rows
from powercut.states.updates import UpdateKind

_MOST_MENDED = 12  # states for which one fix is looked for
_MOST_MOMENTS = 64  # between a loss and the sync that would help
_Call = tuple[int, int]  # what stands for a call and its other executions
_Loss = tuple[_Call, int, Target]  # the call, the kind of update, and what it changes


@dataclass(slots=True)
class Remedy:
    """What would help.

    Attributes:
        proposal: the syncs that `fix` is about, if it is about syncs.
        fixed: if the model confirms them, the timelines with these syncs, one for all kin, as far as they were made.
        scopes: what the syncs are about, on timelines that were asked for.
    """

    fix: Fix | None = None
    proposal: Proposal | None = None
    fixed: dict[int, Timeline] = field(default_factory=dict)
    scopes: dict[Timeline, SyncScope] = field(default_factory=dict)

    def scope(self, timeline: Timeline) -> SyncScope | None:
        """What the syncs are about; None if none are known to help."""
        if self.proposal is None or not self.fixed:
            return None
        if timeline not in self.scopes:
            self.scopes[timeline] = SyncScope(timeline, self.proposal.syncs_on(timeline))
        return self.scopes[timeline]

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
        repairs: how it is taken out of a state, one for each pair of calls that shows it.
        wider: the same, to the last of calls that one line makes; for states that nothing else explains.
        losses: the calls whose loss shows it, with what they change.
        pairs: the calls between which a cut shows it.
        shown: the timelines that show it, by number, and states of each that a fix must make impossible.
    """

    finding: Finding
    story: Story
    remedy: Remedy
    repairs: list[Repair] = field(default_factory=list)
    wider: list[Repair] = field(default_factory=list)
    losses: set[_Loss] = field(default_factory=set)
    pairs: set[tuple[_Call, _Call]] = field(default_factory=set)
    shown: dict[int, list[State]] = field(default_factory=dict)

    @property
    def learned(self) -> int:
        """How much is known of it: grows with every other way in which it shows."""
        return len(self.losses) + len(self.pairs)

    def repair(self, timeline: Timeline, question: Question, *, wider: bool = False) -> Question:
        """A question about a state without this cause; the same if it does not show there."""
        for repair in (*self.repairs, *self.wider) if wider else self.repairs:
            question = repair(timeline, question)
        return question


class Causes:
    """What is known about causes on some timelines of one trace."""

    def __init__(self, timelines: Sequence[Timeline], rows: Rows, oracle: Oracle) -> None:
        self.known: list[Cause] = []
        self._timelines = timelines
        self._rows = rows
        self._oracle = oracle
        self._losses: dict[Timeline, dict[int, _Loss]] = {}

    def take_out(
        self, number: int, question: Question, *, but: Cause | None = None, wider: bool = False
    ) -> tuple[Question, list[Cause]]:
        """A state of a timeline without the known causes, `but` one, and those that were taken out of it.

        What one of them gives back may show another one, which is taken out, too.
        """
        others = [cause for cause in self.known if cause is not but]
        touched: dict[str, Cause] = {}
        for _ in range(len(others)):
            before = question
            for cause in others:
                repaired = cause.repair(self._timelines[number], question, wider=wider)
                if repaired != question:
                    touched[cause.finding.id] = cause
                    question = repaired
            if question == before:
                break
        return question, [cause for cause in others if cause.finding.id in touched]

    def add(self, finding: Finding, story: Story, remedy: Remedy, places: Mapping[int, State]) -> Cause:
        """A new cause, told by a state that some timelines can leave."""
        cause = Cause(finding, story, remedy)
        self.known.append(cause)
        self._learn(cause, story)
        self.join(cause, places)
        return cause

    def extend(self, cause: Cause, story: Story, places: Mapping[int, State]) -> None:
        """Another story of a known cause: it shows in other calls, too."""
        self._learn(cause, story)
        self.join(cause, places)
        if cause.remedy.fix is not None and cause.remedy.fix.by == "check":
            self.doubt(cause)  # the other order was tried for one pair of calls

    def _learn(self, cause: Cause, story: Story) -> None:
        timeline = self._timelines[story.number]
        if story.shape in (Shape.SPLIT, Shape.SAID):
            if story.lost and story.partner is not None:
                self._learn_pair(cause, story, story.partner, int(timeline.event[story.lost[0]]))
            return
        known = bool(cause.losses)
        cause.losses |= {self._loss(timeline, update) for update in timeline.lost(story.state)}
        if not known:
            torn = story.shape is Shape.TORN
            cause.repairs.append(
                Complete(partial(self._shows, cause)) if torn else GiveBack(partial(self._taken, cause))
            )

    def _learn_pair(self, cause: Cause, story: Story, first: int, second: int) -> None:
        timeline = self._timelines[story.number]
        pair = (site_of(timeline, first), site_of(timeline, second))
        if pair in cause.pairs:
            return
        cause.pairs.add(pair)
        if story.shape is not Shape.SPLIT:
            cause.repairs.append(SayLater(first, second))
            return
        cause.repairs.append(GoOn(first, second, story.parts))
        if (nth := executions_between(timeline, first, second)) > 1:
            cause.wider.append(GoOn(first, second, story.parts, nth))

    def _shows(self, cause: Cause, timeline: Timeline, update: int) -> bool:
        return self._loss(timeline, update) in cause.losses

    def _taken(self, cause: Cause, timeline: Timeline, question: Question) -> list[int]:
        """What a missing sync took of a state: what was lost in its calls, and what the sync of the fix is about.

        Of files that one call changes, the sync that was missed for one is none that was missed for another.
        """
        lost = timeline.lost(question.state)
        shown = [update for update in lost if self._shows(cause, timeline, update)]
        # A call's size is not given back without its data: that would tear it.
        calls = {self._file_of_call(timeline, update) for update in shown}
        back = [update for update in lost if self._file_of_call(timeline, update) in calls]
        scope = cause.remedy.scope(timeline)
        if scope is not None:
            paths = {target.path for _, _, target in cause.losses}
            for update in scope.saved(lost, question.state.point):
                named = timeline.kind(update) is UpdateKind.ENTRY
                if named or self._loss(timeline, update)[-1].path in paths:
                    back.append(update)
        return back

    def _file_of_call(self, timeline: Timeline, update: int) -> tuple[int, Target]:
        """The call of an update, and what it changes of which file, wherever in it."""
        return int(timeline.event[update]), self._loss(timeline, update)[-1]._replace(place="")

    def _loss(self, timeline: Timeline, update: int) -> _Loss:
        known = self._losses.setdefault(timeline, {})
        if update not in known:
            call = site_of(timeline, int(timeline.event[update]))
            known[update] = (call, timeline.updates.kind[update], target_of(timeline, update))
        return known[update]

    def too_early_for_it(self, cause: Cause, number: int, state: State) -> State | None:
        """Of a state that a missing sync explains: the same loss, right before that sync would have been made.

        If the oracle refuses this one, too, the loss fails for another reason. None if there is no such moment.
        """
        timeline = self._timelines[number]
        if cause.story.shape is not Shape.LOSS or cause.story.partner is None:
            return None
        lost = self._taken(cause, timeline, Question(state))
        first = min((int(timeline.event[update]) for update in lost), default=None)
        after = next_like(timeline, cause.story.partner, first) if first is not None else None
        if after is None or 2 * after - 1 > state.point:
            return None
        point = 2 * after - 2  # at 2 * after - 1 the sync has returned
        return timeline.without((update for update in lost if update < timeline.issued(point)), point)

    # Fixes

    def join(self, cause: Cause, places: Mapping[int, State]) -> None:
        """Note which rows show a cause, in the order in which they were asked for. Its fix must hold there, too."""
        holds = True
        for number, state in places.items():
            kin = self._rows.kin(number)
            fixed = cause.remedy.timeline(kin, self._timelines[kin])
            survives = fixed is not None and fixed.is_possible(state)
            states = cause.shown.setdefault(number, [])
            if survives or not states:
                states.append(state)
            holds = holds and not survives
        cause.finding.models[:] = [self._timelines[number].label for number in sorted(cause.shown)]
        if not holds:
            self._mend(cause)

    def doubt(self, cause: Cause) -> None:
        """What was verified is a suggestion from now on."""
        fix = cause.finding.fix
        if fix is not None:
            cause.finding.fix = replace(fix, verified=False)
        cause.remedy = Remedy(cause.finding.fix, cause.remedy.proposal)

    def _mend(self, cause: Cause) -> None:
        """Look for a fix that holds for all that shows a cause, where the one that was known does not."""
        places = [(number, state) for number, states in cause.shown.items() for state in states]
        self.doubt(cause)
        if cause.story.partner is None or len(places) > _MOST_MENDED:
            return
        try:
            found = self.sync(places, cause.story, cause.finding.locations, cause)
        except OutOfTime:
            return
        if found is not None and found.fixed:
            cause.remedy = found
            cause.finding.fix = found.fix

    def sync(
        self, places: Sequence[Place], story: Story, where: Sequence[Location], but: Cause | None = None
    ) -> Remedy | None:
        """Syncs that help: no timeline with them has a state any more that it had, and no other comes instead.

        If there are none, the first that comes to mind, as a suggestion; None if there is nothing to sync. `where`: the
        lines of what was lost and, at last, of what must not come first; `but`: the cause itself, if it is known.
        """
        kin = dict.fromkeys((self._rows.kin(number), state) for number, state in places)
        shown = [(number, self._timelines[number], state) for number, state in kin]
        if story.partner is None:
            return None
        first: Proposal | None = None
        for proposal in propose(shown, story.partner, self._oracle.look_at_the_clock):
            first = first or proposal
            fixed = tried(proposal, shown, self._oracle.look_at_the_clock)
            if fixed is not None:
                verified = self._passes_until_synced(story, proposal, but)
                return Remedy(Fix(proposal.text(where), verified, "model", proposal.added), proposal, fixed)
        return None if first is None else Remedy(Fix(first.text(where), False, "model", first.added), first)

    def _passes_until_synced(self, story: Story, proposal: Proposal, but: Cause | None) -> bool:
        """Whether the loss is harmless until the sync: the oracle accepts it at every moment in between."""
        timeline = self._timelines[story.number]
        lost = timeline.lost(story.state)
        if story.partner is None or proposal.after:
            return True
        calls = range(int(timeline.event[lost[0]]) + 1, story.partner)
        moments = [call for call in calls if timeline.updates_of(call)]
        if len(moments) > _MOST_MOMENTS:
            return False
        states = [timeline.without((u for u in lost if u < timeline.issued(2 * call)), 2 * call) for call in moments]
        possible = [Question(state) for state in states if timeline.is_possible(state)]
        others = [self.take_out(story.number, question, but=but)[0] for question in possible]
        return not any(self._oracle.fails(story.number, others)) if others else True

"""One sync on trial: its states are asked about one by one until one of them shows that it is needed.

Before: a removal that changes something, and a judge that judges states. After: a `Judgement`, at any time the best
that is known.

A state is asked about if its image, with what had been said by then, is one that the program could not leave with the
sync. It speaks for the sync if it fails while the same state with what the sync had saved passes. Then the usual
diagnosis explains it, and may use only states that speak for the sync as well: what is reported is what the sync
prevents, and never a mistake that the program has anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powercut import _engine
from powercut.findings.diagnose import Diagnosis
from powercut.findings.explaining_time import ExplainingTime, Over
from powercut.findings.finding import Finding
from powercut.findings.places import Places
from powercut.findings.questions import Question
from powercut.image.digest import Digester
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.search.exploration import Exploration
from powercut.states.state import State
from powercut.syncs.candidates import Candidates
from powercut.syncs.removal import Removal
from powercut.syncs.sync_verdict import Judgement, Need, Why

REPEATED_STATES, REPEATED_SAMPLES = 100_000, 5000  # in a row without a new image: what is left has nothing to show
LOOKS_IN_A_TURN = 50  # states that a turn looks at before the next sync has its own


@dataclass(frozen=True, slots=True)
class RemovalJudge:
    """Where the states of a removal are judged: a timeline that allows all of them, by its number in an exploration."""

    exploration: Exploration
    number: int
    digester: Digester

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge states that are written out."""
        return self.exploration.judge(self.number, questions)

    def ask(self, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        """The same, as far as time allows."""
        return self.exploration.ask(self.number, questions, over)


class RemovalTest:
    """Everything known about one sync under one model."""

    def __init__(
        self, removal: Removal, judge: RemovalJudge, places: Places, seed: int, explaining_time: ExplainingTime
    ) -> None:
        self.removal = removal
        self.judge = judge
        self.turns = 0
        self.tested = 0
        self.broken = 0
        self.finding: Finding | None = None
        self._places = places
        self._explaining_time = explaining_time
        self._candidates = Candidates(removal, seed)
        self._states: Iterator[State] = iter(self._candidates if removal.can_show else ())
        self._seen: set[tuple[int, int]] = set()  # images, with how much was said
        self._asked: set[tuple[int, int, int]] = set()  # states, by what was issued, lost and said
        self._repeats = 0
        self._unanswered = 0
        self._ended = not removal.can_show
        self._gave_up = False

    @property
    def is_open(self) -> bool:
        """Whether there is more to ask."""
        return self.finding is None and not self._ended

    def next_states(self, count: int, over: Over) -> list[State]:
        """Up to so many states that are worth an answer."""
        self.turns += 1
        found: list[State] = []
        looked_at = 0
        while len(found) < count and not self._ended and looked_at < LOOKS_IN_A_TURN and not over():
            looked_at += 1
            self._gave_up = self._repeats > (REPEATED_SAMPLES if self._candidates.at_random else REPEATED_STATES)
            state = None if self._gave_up else next(self._states, None)
            if state is None:
                self._ended = True
            elif self._shows_something_new(state):
                found.append(self.removal.written_out(state))
                self._repeats = 0
            else:
                self._repeats += 1
        self._unanswered += len(found)
        return found

    def hear(self, state: State, verdict: Verdict) -> None:
        """Take in what the oracle said about a state."""
        self.tested += 1
        self._unanswered -= 1
        if verdict.passed or self.finding is not None:
            return
        if self.judge.judge([Question(self.removal.given_back(state))])[0].passed:
            self.finding = self._explain(state, verdict)
        else:
            self.broken += 1

    def judgement(self) -> Judgement:
        """What is known by now."""
        removal, need, why = self.removal, Need.NOT_COVERED, Why.BUDGET
        if self.finding is not None:
            need, why = Need.NEEDED, Why.FAILS
        elif self._all_asked and self.tested:
            why = Why.ALL_PASS
        elif self._all_asked and removal.leaves_something:
            why = Why.NOTHING_FOLLOWS
        elif self._all_asked:
            need, why = Need.REDUNDANT, Why.IN_TIME
        elif self._ended and not self._unanswered:
            why = Why.TOO_MANY
        label, counted = removal.timeline.label, len(removal.executions)
        return Judgement(label, need, why, self.tested, self.broken, counted, self.finding)

    @property
    def _all_asked(self) -> bool:
        """Whether the states came to their own end: no other image is new."""
        if not self.removal.can_show:
            return True
        return self._ended and not self._gave_up and not self._unanswered and self._candidates.are_all

    def _shows_something_new(self, state: State) -> bool:
        state, said = self.removal.written_out(state), self.removal.said(state.point)
        identity = (self.removal.timeline.issued(state.point), _engine.mark_set(state.delta), said)
        if identity in self._asked or not self.removal.is_new(state):
            return False
        self._asked.add(identity)
        image = self.judge.digester.digest(state)
        if (image, said) in self._seen:
            return False
        self._seen.add((image, said))
        known = (self.removal.given_back(state), self.removal.before(state))
        return all(self.judge.digester.digest(other) != image for other in known if other is not None)

    def _explain(self, state: State, verdict: Verdict) -> Finding:
        diagnosis = Diagnosis(
            [self.removal.timeline], self._places, self._testify, self._where_it_dies, self._explaining_time
        )
        diagnosis.explain(0, state, verdict)
        return diagnosis.findings[0]

    def _testify(self, _: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        """The oracle for the diagnosis: what does not speak for the sync counts as passing."""
        silent = Verdict(Outcome.PASS)
        asked = [question._replace(state=self.removal.written_out(question.state)) for question in questions]
        open_ = [
            number
            for number, question in enumerate(asked)
            if question.output_until is not None or question.unsaid or self.removal.is_new(question.state)
        ]
        answers = dict(zip(open_, self.judge.ask([asked[number] for number in open_], over), strict=True))
        failing = [number for number, verdict in answers.items() if verdict is not None and not verdict.passed]
        doubtful = [n for n in failing if asked[n].output_until is None and not asked[n].unsaid]
        with_it = self.judge.ask([Question(self.removal.given_back(asked[number].state)) for number in doubtful], over)
        for number, verdict in zip(doubtful, with_it, strict=True):
            if verdict is None:
                answers[number] = None
            elif not verdict.passed:
                answers[number] = silent
        return [answers.get(number, silent) for number in range(len(asked))]

    def _where_it_dies(self, _: int, state: State) -> tuple[str, ...]:
        return self.judge.exploration.where_it_dies(self.judge.number, self.removal.written_out(state))

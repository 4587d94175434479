"""The search: takes states from the strategies, has their images judged once each, and has failures diagnosed.

Before: timelines of one trace and an executor that judges states. After: every state taken from the queue was tested,
or its image had been judged before, on this row or another; every failing one is explained by a finding, or counted as
not explained for want of time. All rows are searched together. A budget of time or states, or Ctrl-C, stops it anywhere
with what it has.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence

from powercut.findings.diagnose import Diagnosis
from powercut.findings.explaining_time import ExplainingTime, Over, never
from powercut.findings.finding import Finding
from powercut.findings.places import Places
from powercut.findings.questions import Question
from powercut.interrupts import pass_on
from powercut.oracle.verdict import Verdict
from powercut.search.budget import Budget, Spending
from powercut.search.cache_check import CacheCheck
from powercut.search.doubtful_states import DoubtfulStates
from powercut.search.equivalence import Equivalence
from powercut.search.events import Counts, Found, Progress, Subscriber
from powercut.search.failures import Explaining, Failures
from powercut.search.image_judging import ImageJudging
from powercut.search.image_keys import ImageKeys, OutputKey
from powercut.search.image_questions import ImageQuestions
from powercut.search.jobs import Executor
from powercut.search.stages import Stages
from powercut.search.state_intake import StateIntake
from powercut.states.behaviors.tour import BehaviorTour
from powercut.states.estimate import SECONDS, Estimate
from powercut.states.state import State
from powercut.states.state_counts import total_of
from powercut.states.strategies import Tally, joint_queue
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline
from powercut.states.timelines import Rows

MOST_REPEATS = 100_000  # random states in a row without a new image: what is left has nothing to show
PROGRESS_EVERY = 0.2  # seconds
_LISTEN = 0.2  # seconds until it is seen that time is over
_NO_TIME_TO_GROUP = "the strategy 'representatives' was skipped ({}): the trace is too long for this budget"
UNCOUNTED = 200  # states of a row until all are counted, if nothing was found by then


class Exploration:
    """One search over the states of one trace under one or more models."""

    def __init__(
        self,
        timelines: Sequence[Timeline],
        executor: Executor,
        output_key: OutputKey,
        budget: Budget,
        seed: int,
        tell: Subscriber,
        strategies: Sequence[str] = STRATEGY_NAMES,
        recall: CacheCheck | None = None,
        equivalence: Equivalence | None = None,
        *,
        knows_output: bool = True,
        stages: Stages | None = None,
    ) -> None:
        """`knows_output`: whether the oracle knows what the program said; `stages`: where seconds are counted."""
        self.counts = Counts()
        self.interrupted = False
        self.finished = False  # the strategies had no more to offer
        self.unanswered = 0  # states that were still being judged when nothing was waited for any more
        self.places = Places(timelines[0].trace)
        self.stages = stages or Stages()
        self._seed = seed
        self._tell = tell
        self._strategies = tuple(strategies)
        self._cache = recall or CacheCheck()
        self._spending = Spending(budget, self._taken)
        self._last_progress = time.monotonic()
        self._failures = Failures()
        keys = ImageKeys(timelines, output_key, outlive=self._cache.active)
        self._images = ImageJudging(keys, executor, self._cache, self.counts, self._failures.add, tell)
        self._intake = StateIntake(timelines, self._images, equivalence, self.counts, self._failures.add)
        self._questions = ImageQuestions(self._images, self._report_progress)
        rows = Rows(timelines, keys.key)
        self._searched = {number: timelines[number] for number in rows.leaders}
        left = self._spending.left
        self._tallies = {number: Tally(timeline, left) for number, timeline in self._searched.items()}
        self._diagnosis = Diagnosis(
            timelines,
            self.places,
            self.ask,
            self.where_it_dies,
            ExplainingTime(self._spending.left, self._spending.left_to_explain),
            rows,
            knows_output=knows_output,
        )
        self._explaining = Explaining(
            timelines,
            self._failures,
            self._images,
            self._questions,
            self._diagnosis,
            self._found,
            self._is_late,
            self._is_over,
        )

    @property
    def findings(self) -> list[Finding]:
        """What was found so far."""
        return self._diagnosis.findings

    @property
    def doubtful(self) -> DoubtfulStates:
        """States of which the check did not say one thing."""
        return self._images.doubtful

    @property
    def notes(self) -> list[str]:
        """What the user should know about the check and the search."""
        late = [self._searched[number].label for number, tally in self._tallies.items() if tally.too_late]
        return [*self._images.notes, _NO_TIME_TO_GROUP.format(", ".join(late))] if late else self._images.notes

    @property
    def behaviors(self) -> list[tuple[str, BehaviorTour]]:
        """What representative testing made of each model, by its name, if it came to that."""
        tours = [(self._searched[number].label, tally.behaviors) for number, tally in self._tallies.items()]
        return [(name, tour) for name, tour in tours if tour is not None]

    def judge(self, number: int, questions: Sequence[Question]) -> list[Verdict]:
        """Judge some states now, from memory where that is known."""
        return [verdict for verdict in self.ask(number, questions, never) if verdict is not None]

    def ask(self, number: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        """The same, as far as time allows: what is not answered when it is over is None, and left to itself."""
        return self._questions.ask(number, questions, over)

    def where_it_dies(self, number: int, state: State) -> tuple[str, ...]:
        """The stack of the oracle where it dies on a state."""
        return self._questions.where_it_dies(number, state, self._is_over)

    def run(self) -> None:
        """Search until everything is tested or the budget ends."""
        try:
            finished = self._search()
            self._settle()
            if self._is_uncounted:
                self._count_states()
            self.finished = finished
            self.counts.exhausted = finished and not self.unanswered and self._strategies_hold_everything()
            if self.counts.exhausted and isinstance(self.counts.total, Estimate):
                self._count_states(math.inf)  # each point was counted by now
        except KeyboardInterrupt:
            self.interrupted = True
        self.counts.unexplained = self._diagnosis.unexplained + len(self._failures)
        self._intake.keep_predictions(self._cache)
        self._report_progress(force=True)

    def _search(self) -> bool:
        """All timelines, turn by turn; whether their queue came to an end."""
        repeats, tired = Counter[int](), set[int]()
        seen: dict[int, set[tuple[int, int]]] = {number: set() for number in self._searched}
        for number, strategy, state in joint_queue(self._searched, self._seed, self._strategies, tired, self._tallies):
            pass_on()
            if self._spending.over() or (self._diagnosis.waiting and self._spending.nearly_over):
                return False
            if self._intake.is_pointless:
                return False
            # What is enumerated comes to an end by itself.
            repeats[number] = repeats[number] + 1 if strategy == "samples" else 0
            if repeats[number] > MOST_REPEATS:
                tired.add(number)
            identity = self._searched[number].identity(state)
            if identity in seen[number]:
                continue
            seen[number].add(identity)
            if self._intake.take_with_latest_output(number, state):
                repeats[number] = 0
                self.counts.by_strategy[strategy] = self.counts.by_strategy.get(strategy, 0) + 1
            while self._intake.waits and not self._spending.over():
                self._images.pump(_LISTEN)
            self._explain()
            if self._is_uncounted and (self.findings or len(seen[number]) > UNCOUNTED):
                self._count_states()
            self._report_progress()
        return not tired

    def _strategies_hold_everything(self) -> bool:
        tallies = self._tallies.values()
        return self._strategies == STRATEGY_NAMES and all(tally.counts.is_enumerable() for tally in tallies)

    def _settle(self) -> None:
        """Wait for what is still being judged, unless nobody waits for it, and explain what was left for later."""
        while (self._images.awaited or (self._failures and not self._is_late())) and not self._is_over():
            if self._images.awaited:
                self._images.pump(_LISTEN)
            self._explain()
            self._report_progress()
        if self._is_over():
            self.unanswered = self._images.give_up()
            self.counts.unanswered = self.doubtful.overdue
            self._explain()  # what is known must do for the first finding
        with self.stages.taking("explaining"):
            self._explain_the_rest()

    def _explain(self) -> None:
        if self._failures:
            with self.stages.taking("explaining"):
                self._explaining.explain()

    def _explain_the_rest(self) -> None:
        """Use what is left of the time for states that had too little of it, as long as that leads anywhere."""
        for _ in range(2 * self._diagnosis.waiting):
            if not self._diagnosis.waiting or self._spending.left() == 0 or self._is_late():
                break
            for found in self._diagnosis.try_again():
                self._tell(Found(found))
            self._report_progress()

    def _found(self, finding: Finding) -> None:
        finding.reached = self.counts.covered
        self._tell(Found(finding))

    def _is_late(self) -> bool:
        """Whether nothing more is explained: the budget is long gone, and there is something to show."""
        return bool(self.findings) and self._spending.used_up

    def _is_over(self) -> bool:
        """Whether nothing more is asked or waited for."""
        return self._spending.used_up

    def _count_states(self, seconds: float = SECONDS) -> None:
        """How many states there are in all: that takes time, which nobody should wait for before the first finding."""
        with self.stages.taking("counting"):
            self.counts.total = total_of([tally.counts for tally in self._tallies.values()], self._seed, seconds)

    @property
    def _is_uncounted(self) -> bool:
        return self.counts.total is None and self._strategies == STRATEGY_NAMES

    def _taken(self) -> int:
        """How many states count against the budget; questions do not."""
        known = self.counts.known if self._cache.resumed else 0
        return self.counts.tested + self._images.under_way + known

    def _report_progress(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._last_progress >= PROGRESS_EVERY:
            self._last_progress = now
            self._tell(Progress(self.counts, len(self.findings), self._spending.elapsed, self._spending.left()))

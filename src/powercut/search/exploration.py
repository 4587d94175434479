"""The search: takes states from the strategies, has their images judged once each, and has failures diagnosed.

Before: timelines of one trace and an executor that judges states. After: every state taken from the queue was tested,
or its image had been judged before, on this row or another; every failing one is explained by a finding, or counted as
not explained for want of time. All rows are searched together. A budget of time or states, or Ctrl-C, stops it anywhere
with what it has.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count

from powercut.errors import EnvironmentFailure
from powercut.findings.diagnose import Diagnosis
from powercut.findings.finding import Finding
from powercut.findings.places import Places
from powercut.findings.questions import Question
from powercut.findings.time_limit import Over, TimeLimit, never
from powercut.image.digest import Digester
from powercut.interrupts import pass_on
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.budget import Budget, Spending
from powercut.search.cache_check import CacheCheck
from powercut.search.equivalence import Equivalence
from powercut.search.events import Counts, Found, Progress, Said, Subscriber
from powercut.search.jobs import Executor, Job, Result, Watching
from powercut.search.verdict_cache import Key
from powercut.states.state import Base, State
from powercut.states.strategies import is_enumerable, joint_queue, total_of
from powercut.states.strategy_names import STRATEGY_NAMES
from powercut.states.timeline import Timeline
from powercut.states.timelines import Rows

MOST_REPEATS = 100_000  # random states in a row without a new image: what is left has nothing to show
PROGRESS_EVERY = 0.2  # seconds
UNCOUNTED = 200  # states of a row until all are counted, if nothing was found by then
_LISTEN = 0.2  # seconds until it is seen that time is over

OutputKey = Callable[[Timeline, int], Hashable]  # what an oracle holds the program to at a point


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
    ) -> None:
        """`knows_output`: whether the oracle knows what the program said."""
        self.counts = Counts()
        self.interrupted = False
        self.finished = False  # the strategies had no more to offer
        self._timelines = timelines
        self._executor = executor
        self._output_key = output_key
        self._seed = seed
        self._tell = tell
        self._strategies = tuple(strategies)
        self._recall = recall or CacheCheck()
        self._equivalence = equivalence
        self._followed: dict[Key, Verdict] = {}  # images that need no run -> what equivalence says of them
        self._digesters = [Digester(timeline, whole=self._recall.active) for timeline in timelines]
        self._killed: dict[int, int] = {}  # event up to which nothing is lost -> digest, the same on every row
        self._rows = Rows(timelines, lambda number, state: self._key(number, state, None))
        self._searched = {number: timelines[number] for number in self._rows.leaders}
        self._verdicts: dict[Key, Verdict] = {}
        self._recalled_for_questions: set[Key] = set()  # of earlier runs, and not yet counted as known
        self._waiting: dict[Key, list[tuple[int, int, State]]] = {}  # states whose image is being judged
        # Number of a job -> the job, its image, and whether it counts as a state tested.
        self._running: dict[int, tuple[Job, Key, bool]] = {}
        self._asked_again: dict[Key, Verdict] = {}  # images on which the oracle died or hung -> what it did first
        self.notes: list[str] = []
        self._failures: list[tuple[int, int, State]] = []  # a heap: when it was taken, which row, the state
        self._order = count()  # in which states are taken; they are explained in the same order on every machine
        self._next_job = 0
        self._spending = Spending(budget, self._taken)
        self._last_progress = time.monotonic()
        time_limit = TimeLimit(self._spending.left)
        self.places = Places(timelines[0].trace)
        self._diagnosis = Diagnosis(
            timelines, self.places, self.ask, self.where_it_dies, time_limit, self._rows, knows_output=knows_output
        )

    @property
    def findings(self) -> list[Finding]:
        """What was found so far."""
        return self._diagnosis.findings

    def run(self) -> None:
        """Search until everything is tested or the budget ends."""
        try:
            finished = self._search()
            self._settle()
            self._count_states()
            self.finished = finished
            everything = self._strategies == STRATEGY_NAMES and all(map(is_enumerable, self._searched.values()))
            self.counts.exhausted = finished and everything
        except KeyboardInterrupt:
            self.interrupted = True
        self.counts.unexplained = self._diagnosis.unexplained + len(self._failures)
        for key, verdict in self._followed.items():
            self._recall.learn(key, verdict, None)
        self._report_progress(force=True)

    def _search(self) -> bool:
        """All timelines, turn by turn; whether their queue came to an end."""
        repeats, tired = Counter[int](), set[int]()
        seen: dict[int, set[tuple[int, int]]] = {number: set() for number in self._searched}
        for number, strategy, state in joint_queue(self._searched, self._seed, self._strategies, tired):
            pass_on()
            if self._spending.over() or (self._diagnosis.waiting and self._spending.nearly_over):
                return False
            # What is enumerated comes to an end by itself.
            repeats[number] = repeats[number] + 1 if strategy == "samples" else 0
            if repeats[number] > MOST_REPEATS:
                tired.add(number)
            identity = self._searched[number].identity(state)
            if identity in seen[number]:
                continue
            seen[number].add(identity)
            if self._take_with_latest_output(number, state):
                repeats[number] = 0
                self.counts.by_strategy[strategy] = self.counts.by_strategy.get(strategy, 0) + 1
            while self._executor.capacity() <= 0 or self._waits():
                self._pump(1.0)
            self._diagnose()
            if self.findings or len(seen[number]) > UNCOUNTED:
                self._count_states()
            self._report_progress()
        return not tired

    def _count_states(self) -> None:
        """How many states there are in all: that takes time, which nobody should wait for before the first finding."""
        if self.counts.total is None and self._strategies == STRATEGY_NAMES:
            self.counts.total = total_of([*self._searched.values()], self._seed)

    def _take_with_latest_output(self, number: int, state: State) -> bool:
        """Send a state to be judged as its crash point owes it; one that owes less is judged, too, and not counted."""
        most = self._timelines[number].with_latest_output(state)
        if most is not state:
            self._take(number, state, counts=False)
        return self._take(number, most)

    def _take(self, number: int, state: State, *, counts: bool = True) -> bool:
        """Send a state to be judged, unless its image was or is being judged."""
        key = self._key(number, state, None)
        taken = (next(self._order), number, state)
        verdict = self._verdicts.get(key) or self._followed.get(key)
        if key in self._recalled_for_questions:
            verdict = None
        if verdict is None and key not in self._waiting and (verdict := self._recalled(key)) is not None:
            self._recalled_for_questions.discard(key)
            self.counts.known += counts
            self.counts.failed += counts and not verdict.passed
            if not verdict.passed:
                heappush(self._failures, taken)
            return True
        if verdict is not None or key in self._waiting:
            self.counts.equal += counts
            if verdict is None:
                self._waiting[key].append(taken)
            elif not verdict.passed:
                heappush(self._failures, taken)
            return False
        decided = Watching.NOT if self._equivalence is None else self._equivalence.decide(number, state)
        if isinstance(decided, Verdict):
            self.counts.equivalent += counts
            self._followed[key] = decided
            if not decided.passed:
                heappush(self._failures, taken)
            return False
        self._waiting[key] = [taken]
        self._submit(Job(self._next_job, number, state, looks=decided), key, counts=counts)
        return True

    def _waits(self) -> bool:
        return self._equivalence is not None and self._equivalence.waits(len(self._running))

    def _learn(self, job: Job, result: Result) -> None:
        """Let equivalence take in a run; what it had decided wrongly is run after all."""
        if self._equivalence is not None:
            doubted = self._equivalence.learn(job, result)
            if doubted:
                self._followed.clear()
            for number, state in doubted:
                counted = self._timelines[number].with_latest_output(state) is state
                self.counts.equivalent -= counted
                self._take(number, state, counts=counted)

    def _recalled(self, key: Key) -> Verdict | None:
        """The verdict of an earlier run, from now on one of this run's."""
        verdict = self._recall.find(key)
        if verdict is not None:
            self._verdicts[key] = verdict
            if verdict.outcome is Outcome.HANG:
                self._asked_again[key] = verdict  # it was confirmed then
        return verdict

    def _submit(self, job: Job, key: Key, *, counts: bool) -> None:
        self._running[job.id] = (job, key, counts)
        self._executor.submit([job])
        self._next_job += 1

    def _key(self, number: int, state: State, output_until: int | None) -> Key:
        point = state.point if output_until is None else output_until
        return self._digest(number, state), self._output_key(self._timelines[number], point)

    def _digest(self, number: int, state: State) -> int:
        if state.delta or state.base is not Base.ISSUED:
            return self._digesters[number].digest(state)
        last = state.point // 2
        if last not in self._killed:
            self._killed[last] = self._digesters[number].digest(state)
        return self._killed[last]

    def _pump(self, timeout: float | None) -> None:
        """Take in what the workers have."""
        pass_on()
        for result in self._executor.results(timeout):
            job, key, counts = self._running.pop(result.id)
            self._learn(job, result)
            if self._must_ask_again(key, result.verdict):
                self._submit(replace(job, id=self._next_job, looks=Watching.NOT), key, counts=counts)
                continue
            verdict = self._verdicts[key] = result.verdict
            if verdict.outcome is Outcome.ERROR:
                # Of a traceback, which an unbuildable image leaves, a user is shown what happened and not where.
                said = verdict.output.strip().splitlines() or ["it gave no reason"]
                reason = said[0] if len(said) == 1 else f"{said[0]}: {said[-1]}"
                raise EnvironmentFailure("check-cannot-run", f"the check could not be run: {reason}.")
            if not job.traced:
                self._recall.learn(key, verdict, self._asked_again.get(key))
            self.counts.tested += counts
            self.counts.failed += counts and not verdict.passed
            for taken in self._waiting.pop(key, ()):
                if not verdict.passed:
                    heappush(self._failures, taken)

    def _must_ask_again(self, key: Key, verdict: Verdict) -> bool:
        """An oracle that died or hung may have been killed by something else: it is asked twice."""
        before = self._asked_again.get(key)
        if before is not None:
            if verdict.passed:
                how = f"crashed (signal {before.code})" if before.outcome is Outcome.CRASH else "hung"
                self.notes.append(f"the check {how} on an image, and passed when run again")
                self._tell(Said(self.notes[-1], warning=True))
            return False
        doubtful = verdict.outcome is Outcome.CRASH or (verdict.outcome is Outcome.HANG and not self._hung_twice)
        if doubtful:
            self._asked_again[key] = verdict
        return doubtful

    @property
    def _hung_twice(self) -> bool:
        """Whether a hang was confirmed before: each costs a whole time-out, so later ones are believed."""
        again = (self._verdicts.get(key) for key in self._asked_again)
        return any(verdict is not None and verdict.outcome is Outcome.HANG for verdict in again)

    def judge(self, number: int, questions: Sequence[Question]) -> list[Verdict]:
        """Judge some states now, from memory where that is known."""
        return [verdict for verdict in self.ask(number, questions, never) if verdict is not None]

    def ask(self, number: int, questions: Sequence[Question], over: Over) -> list[Verdict | None]:
        """The same, as far as time allows: what is not answered when it is over is None, and left to itself."""
        keys = [self._key(number, state, output_until) for state, output_until in questions]
        for key, (state, output_until) in zip(keys, questions, strict=True):
            if key in self._verdicts or key in self._waiting:
                continue
            if self._recalled(key) is not None:
                self._recalled_for_questions.add(key)
            else:
                while self._executor.capacity() <= 0 and not over():
                    self._pump(_LISTEN)
                if over():
                    break
                self._waiting[key] = []
                self._submit(Job(self._next_job, number, state, output_until), key, counts=False)
        while any(key in self._waiting for key in keys) and not over():
            self._pump(_LISTEN)
            self._report_progress()
        return [self._verdicts.get(key) for key in keys]

    def where_it_dies(self, number: int, state: State) -> tuple[str, ...]:
        """The stack of the oracle where it dies on a state."""
        digest, output = self._key(number, state, None)
        key = (digest, ("traced", output))
        if key not in self._verdicts:
            self._waiting[key] = []
            self._submit(Job(self._next_job, number, state, None, traced=True), key, counts=False)
        while key not in self._verdicts:
            self._pump(1.0)
        return self._verdicts[key].stack

    @property
    def _is_late(self) -> bool:
        """Whether nothing more is explained: the budget is long gone, and there is something to show."""
        return bool(self.findings) and self._spending.used_up

    def _next_failure(self) -> tuple[int, int, State] | None:
        """The failing state that was taken first, unless one that was taken before it is still being judged."""
        if not self._failures or self._is_late:
            return None
        unjudged = min((some[0][0] for some in self._waiting.values() if some), default=None)
        return None if unjudged is not None and unjudged < self._failures[0][0] else heappop(self._failures)

    def _diagnose(self) -> None:
        while (failure := self._next_failure()) is not None:
            _, number, state = failure
            verdict = self.ask(number, [Question(state)], lambda: self._is_late)[0]
            if verdict is None:
                heappush(self._failures, failure)
                return
            if verdict.passed:  # it was said to fail because it holds what another one holds: only what was seen counts
                continue
            for found in self._diagnosis.explain(number, state, verdict, self._key(number, state, None)):
                found.reached = self.counts.covered
                self._tell(Found(found))

    def _settle(self) -> None:
        """Wait for what is still being judged, unless nobody waits for it, and explain what was left for later."""
        while any(self._waiting.values()) or (self._failures and not self._is_late):
            if any(self._waiting.values()):
                self._pump(1.0)
            self._diagnose()
            self._report_progress()
        self._explain_the_rest()

    def _explain_the_rest(self) -> None:
        """Use what is left of the time for states that had too little of it, as long as that leads anywhere."""
        for _ in range(2 * self._diagnosis.waiting):
            if not self._diagnosis.waiting or self._spending.left() == 0 or self._is_late:
                break
            for found in self._diagnosis.try_again():
                self._tell(Found(found))
            self._report_progress()

    def _taken(self) -> int:
        """How many states count against the budget."""
        under_way = sum(counts for _, _, counts in self._running.values())  # questions do not count
        return self.counts.tested + under_way + (self.counts.known if self._recall.resumed else 0)

    def _report_progress(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._last_progress >= PROGRESS_EVERY:
            self._last_progress = now
            self._tell(Progress(self.counts, len(self.findings), self._spending.elapsed, self._spending.left()))

"""All syncs of a run on trial at once, under one budget.

Before: timelines of one trace, and a way to open a judge for a removal. After: a report for every sync. Every sync
whose case is open gets its turn, so that the budget is shared fairly and each gets its most telling questions first;
one that was shown to be needed asks no more. A budget of time or states, or Ctrl-C, stops it anywhere with what is
known.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from powercut.findings.explaining_time import ExplainingTime
from powercut.findings.questions import Question
from powercut.interrupts import pass_on
from powercut.search.budget import Budget, Spending
from powercut.search.events import Subscriber, Weighed
from powercut.search.exploration import PROGRESS_EVERY
from powercut.states.state import State
from powercut.syncs.removal import Removal
from powercut.syncs.removal_test import RemovalJudge, RemovalTest
from powercut.syncs.sites import ProgramSyncs
from powercut.syncs.sync_verdict import Judgement, Need, SyncReport, SyncsRun, Why

MOST_UPDATES = 30_000_000  # in all open cases together: some gigabytes
PATIENCE = 50  # turns that a case gets while others wait for room
FIRST_BATCH = 8  # states judged at a time, to begin with
MOST_AT_ONCE = 256
SHORT, LONG = 0.2, 1.0  # seconds that a batch should take

Case = tuple[int, int]  # a sync and a model, by their numbers
OpenCourt = Callable[[int, Removal], RemovalJudge]  # for a removal from the timeline of that number


class RemovalScheduler:
    """Judges the syncs of one trace."""

    def __init__(
        self, program: ProgramSyncs, open_judge: OpenCourt, budget: Budget, seed: int, tell: Subscriber
    ) -> None:
        self.interrupted = False
        self.tested = 0
        self._program = program
        self._open_judge = open_judge
        self._budget = budget
        self._seed = seed
        self._tell = tell
        models = range(len(program.timelines))
        self._waiting = deque[Case]((site, model) for site in range(len(program.sites)) for model in models)
        self._trials: dict[Case, RemovalTest] = {}
        self._settled: dict[Case, Judgement] = {}
        self._batch = FIRST_BATCH
        self._spending = Spending(budget, lambda: self.tested)
        self._explaining_time = ExplainingTime(self._spending.left)
        self._last_progress = time.monotonic()

    def run(self) -> None:
        """Hear every case until all are settled or the budget ends."""
        try:
            while (self._waiting or self._trials) and not self._over():
                pass_on()
                self._open()
                self._turn()
                self._settle()
                self._report_progress()
        except KeyboardInterrupt:
            self.interrupted = True
        self._report_progress(force=True)

    def outcome(self, notes: list[str], seconds: float) -> SyncsRun:
        """The table, as far as it is known."""
        timelines = self._program.timelines
        trace, models = timelines[0].trace, range(len(timelines))
        reports = [
            SyncReport(site, [self._judgement((number, model)) for model in models])
            for number, site in enumerate(self._program.sites)
        ]
        return SyncsRun(
            reports=sorted(reports, key=lambda report: list(Need).index(report.need)),
            command=trace.command,
            folder=trace.folder,
            model=",".join(timeline.label for timeline in timelines),
            tested=self.tested,
            seconds=seconds,
            interrupted=self.interrupted,
            notes=notes,
        )

    def _judgement(self, case: Case) -> Judgement:
        if case in self._settled:
            return self._settled[case]
        if case in self._trials:
            return self._trials[case].judgement()
        return Judgement(self._program.timelines[case[1]].label, Need.NOT_COVERED, Why.BUDGET)

    def _open(self) -> None:
        """Take syncs away, as many as there is room for; most of the redundant ones are settled by this alone."""
        while self._waiting and self._has_room and not self._over():
            site, model = case = self._waiting.popleft()
            removal = Removal(self._program.timelines[model], self._program.sites[site].events)
            if removal.changed:
                judge = self._open_judge(model, removal)
                self._trials[case] = RemovalTest(
                    removal, judge, self._program.places, self._seed, self._explaining_time
                )
                self._settle()
            else:
                self._settled[case] = Judgement(removal.timeline.label, Need.REDUNDANT, Why.NOTHING_LEFT)
            self._report_progress()

    @property
    def _has_room(self) -> bool:
        return sum(len(trial.removal.timeline.updates) for trial in self._trials.values()) < MOST_UPDATES

    def _turn(self) -> None:
        """A few states of every open case, judged together."""
        share, left = max(1, self._batch // max(1, len(self._trials))), self._states_left
        questions: dict[RemovalJudge, list[tuple[RemovalTest, State]]] = defaultdict(list)
        for trial in self._trials.values():
            states = trial.next_states(min(share, left), self._over)
            left -= len(states)
            questions[trial.judge].extend((trial, state) for state in states)
        started = time.monotonic()
        for judge, asked in questions.items():
            self._ask(judge, asked)
        took = time.monotonic() - started
        if took > LONG:
            self._batch = max(1, self._batch // 2)
        elif took < SHORT:
            self._batch = min(MOST_AT_ONCE, self._batch * 2)

    def _ask(self, judge: RemovalJudge, asked: Sequence[tuple[RemovalTest, State]]) -> None:
        verdicts = judge.judge([Question(state) for _, state in asked])
        self.tested += len(asked)
        for (trial, state), verdict in zip(asked, verdicts, strict=True):
            trial.hear(state, verdict)

    def _settle(self) -> None:
        """Close the cases that have no more to ask, or have asked long enough, and forget their timelines."""
        for case, trial in list(self._trials.items()):
            if not trial.is_open or (self._waiting and trial.turns >= PATIENCE):
                self._settled[case] = self._trials.pop(case).judgement()

    @property
    def _states_left(self) -> int:
        return MOST_AT_ONCE if self._budget.states is None else self._budget.states - self.tested

    def _over(self) -> bool:
        return self._states_left <= 0 or self._spending.left() == 0

    def _report_progress(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._last_progress >= PROGRESS_EVERY:
            self._last_progress = now
            total = len(self._settled) + len(self._trials) + len(self._waiting)
            self._tell(Weighed(len(self._settled), total, self.tested, self._spending.left()))

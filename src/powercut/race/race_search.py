"""The search for races: execute, learn, judge, replay, until the budget ends or there is nothing left to do.

Before: a stage that performs executions, results that keep what they show, and who judges it. After: the results hold
the findings, and `counts` says how much was done. Workers, threads of ours, take from the agenda what comes next; most
of the time they wait for a tracer, a recovery or a check, and everything else is done under the workbench. The thread
that called `run` only looks at the clock, tells what happened, and saves it: so the budget holds, and what was found is
never lost, whatever a worker waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field, replace
from queue import Empty, SimpleQueue
from threading import Condition, Event, Thread

from powercut.findings.finding import Finding, FindingKind
from powercut.interrupts import pass_on
from powercut.model.filesystem import FileSystem
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.race.agenda import Agenda, CleanEnd, Explaining, Judging, Rehearsing, Work
from powercut.race.board import BoardStop, Site
from powercut.race.campaign import Campaign, Stage
from powercut.race.clock import FIRST_GRACE, Clock
from powercut.race.coverage import Coverage
from powercut.race.crash_bugs import CrashBugs
from powercut.race.failures import Failures
from powercut.race.forecast import Forecast, forecasts, store_counts
from powercut.race.image_judge import Stopped
from powercut.race.inputs import Inputs
from powercut.race.preflight import Preflight
from powercut.race.reproduction import Reproduction
from powercut.race.results import RaceResults
from powercut.race.scheduler import Task
from powercut.race.suspicions import Shown
from powercut.race.validation import Standing, Validator
from powercut.search.events import Found, Raced, Subscriber
from powercut.states.timeline import Timeline

_GLANCE = 0.25  # seconds between two looks at the clock
_SLOWER = 3  # times as long as any other execution of the program: then it hangs, and is not just slow
_SHORTEST = 2.0  # seconds after which a deadlock that is rehearsed may count as one
_PATIENCE = 10.0  # seconds that workers have to end what they wait for


@dataclass(frozen=True, slots=True)
class RaceBudget:
    """When a search ends."""

    clock: Clock
    bugs: float
    executions: float


@dataclass(slots=True)
class RaceSearch:
    """A search.

    Attributes:
        row: the model of the file system and the memory.
        save: keeps all that was found so far, at once.
        stop: set when all that is under way shall end.
        finished: there was nothing left to try.
    """

    stage: Stage
    agenda: Agenda
    inputs: Inputs
    validator: Validator
    crash_bugs: CrashBugs
    preflight: Preflight
    failures: Failures
    row: FileSystem
    budget: RaceBudget
    tell: Subscriber
    save: Callable[[], object]
    stop: Event
    workbench: Condition
    coverage: Coverage = field(default_factory=Coverage)
    executions: int = 0
    interrupted: bool = False
    finished: bool = False
    _begun: int = 0  # executions
    _busy: int = 0  # workers
    _reported: int = 0  # bugs, with all that belongs to them
    _has_clean_end: bool = False
    _slowest: float = 0.0  # seconds, of executions that ended well
    _told: SimpleQueue[Finding] = field(default_factory=SimpleQueue)
    _listed: set[str] = field(default_factory=set)  # ids of what was told
    _error: BaseException | None = None

    @property
    def results(self) -> RaceResults:
        """What was found."""
        return self.agenda.results

    def run(self, jobs: int) -> None:
        """Search until the budget ends, or nothing is left to do."""
        workers = [Thread(target=self._work, daemon=True) for _ in range(jobs)]
        try:
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers) and not self.stop.is_set() and not self._is_over:
                self._look(_GLANCE)
                pass_on()
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.stop.set()
            self._await(workers)
        for rehearsal in self.results.rehearsals:
            self.results.cut_short(rehearsal)
        self._release(all_of_them=True)
        self._look(0.0)
        if self._error is not None:
            raise self._error

    def _await(self, workers: list[Thread]) -> None:
        """Let the workers end; one that does not is left behind: nobody hears of it any more."""
        deadline = time.monotonic() + _PATIENCE
        try:
            for worker in workers:
                worker.join(max(0.0, deadline - time.monotonic()))
        except KeyboardInterrupt:
            self.interrupted = True

    @property
    def _is_over(self) -> bool:
        clock = self.budget.clock
        grace = 0.0 if self.executions else FIRST_GRACE + _GLANCE
        return clock.passed >= clock.seconds + grace or self._reported >= self.budget.bugs

    def _look(self, seconds: float) -> None:
        """Tell and save what was found, and say how far it is."""
        found = self._next_told(seconds)
        news = found is not None
        while found is not None:
            if not self._is_listed(found):
                self.tell(Found(found))
            found = self._next_told(0.0)
        if news:
            self.save()
        clock = self.budget.clock
        self.tell(Raced(self.counts(), self.executions / max(clock.passed, _GLANCE), clock.left))

    def _is_listed(self, finding: Finding) -> bool:
        """Whether it is a candidate that was told before: what was benign may be one again in another execution."""
        known = finding.id in self._listed
        self._listed.add(finding.id)
        race = finding.race
        return known and race is not None and race.standing == Standing.CANDIDATE.value and race.tries == 0

    def _next_told(self, seconds: float) -> Finding | None:
        try:
            return self._told.get(timeout=seconds) if seconds else self._told.get_nowait()
        except Empty:
            return None

    # Workers

    def _work(self) -> None:
        try:
            while not self.stop.is_set():
                work = self._take()
                if work is None:
                    return
                began = time.monotonic()
                try:
                    self._do(work)
                finally:
                    with self.workbench:
                        self._busy -= 1
                        self.agenda.done(work, time.monotonic() - began)
                        self.workbench.notify_all()
        except (Stopped, KeyboardInterrupt):
            if not self.stop.is_set():
                self._interrupt()  # the tracer was interrupted, and so are we
        except BaseException as error:
            self._error = self._error or error
            self.stop.set()

    def _interrupt(self) -> None:
        self.interrupted = True
        self.stop.set()

    def _take(self) -> Work | None:
        """What to do next; None if nothing is left, or the search is over."""
        with self.workbench:
            while not self.stop.is_set():
                work = self.agenda.next(execute=self._may_execute)
                if work is not None:
                    self._busy += 1
                    self._begun += isinstance(work, Task)
                    return work
                if not self._busy:
                    self.finished = self._may_execute
                    self.workbench.notify_all()
                    return None
                self.workbench.wait(_GLANCE)
        return None

    @property
    def _may_execute(self) -> bool:
        in_time = not self.budget.clock.is_over or not self._begun  # the first one counts, however short the budget
        return in_time and self._begun < self.budget.executions and not self.preflight.gave_up

    def _do(self, work: Work) -> None:
        if isinstance(work, Task):
            self._perform(work)
        elif isinstance(work, Judging):
            judged = work.case.judge(self.validator)
            with self.workbench:
                if judged.plain is not None and self.crash_bugs.is_new(judged.plain):
                    work.case.keeper.keep()
                    self.agenda.plain.append(Explaining(judged.plain, work.case))
                self._report(self.results.settle(work.case, judged))
                self._release()
        elif isinstance(work, Rehearsing):
            self._rehearse(work)
        elif isinstance(work, Explaining):
            found = self.crash_bugs.explain(work.case.shown.timeline, work.failure)
            with self.workbench:
                for finding in found:
                    self._report(self.results.add_crash_bug(finding, work.case.shown, work.case.keeper))
            work.case.keeper.let_go()
        else:
            self.validator.recovery = self.preflight.clean_end(work.shown.timeline, self.validator)
            self.agenda.may_judge = True

    def _release(self, *, all_of_them: bool = False) -> None:
        for finding in self.results.released(all_of_them=all_of_them):
            self._report(finding)

    def _report(self, finding: Finding | None) -> None:
        if finding is not None:
            self._reported += finding.severity == "error"
            self._told.put(finding)

    def _rehearse(self, work: Rehearsing) -> None:
        rehearsal = work.rehearsal
        stage = self.stage
        if rehearsal.finding.kind is FindingKind.DEADLOCK and self._slowest:  # it need not wait for the whole limit
            stage = replace(stage, limit=min(stage.limit, max(_SHORTEST, 2 * _SLOWER * self._slowest)))
        reproduction = Reproduction(stage, self.row, self.workbench)
        seen = reproduction.shows(rehearsal.finding, rehearsal.seed, work.schedule)
        with self.workbench:
            rehearsal.told(work.schedule, seen=seen)
            if rehearsal.is_over and rehearsal in self.results.rehearsals:
                self.results.rehearsals.remove(rehearsal)
                self._report(self.results.rehearsed(rehearsal))
                self._release()

    def _perform(self, task: Task) -> None:
        clock = self.budget.clock
        limit = self.stage.limit if self.executions else clock.left + FIRST_GRACE
        campaign = self.stage.perform(task.state.seed, task.schedule, loads=task.is_scout, limit=limit)
        with campaign, self.workbench:
            self._learn(task, campaign)

    def _learn(self, task: Task, campaign: Campaign) -> None:
        """Take what an execution brought into account."""
        timeline = Timeline(campaign.execution.trace, self.row)
        shown = Shown(timeline, campaign.seed, campaign.replay, campaign.thread_index, campaign.meetings())
        ended = self.preflight.ended(campaign, in_time=campaign.limit >= self.stage.limit)
        self.executions += 1
        if campaign.execution.outcome is Outcome.PASS:
            self._slowest = max(self._slowest, campaign.execution.seconds)
        else:
            self.failures.add(campaign)
        for candidate in self.results.take(shown, campaign):
            self._report(candidate)
        if self._hangs(campaign) or campaign.died:
            self._report(self._ending(campaign, shown))
        if ended and not self._has_clean_end:
            self._has_clean_end = True
            self.agenda.urgent.append(CleanEnd(shown))
        self.inputs.said(campaign.seed, campaign.execution.printed[0].read_bytes())
        self.inputs.refusals.check(self.inputs.name)
        self._schedule(task, campaign, timeline)

    def _schedule(self, task: Task, campaign: Campaign, timeline: Timeline) -> None:
        """What an execution says about those that come next."""
        self.agenda.scheduler.told(task, *self.coverage.add(campaign.bitmaps), campaign.points)
        for shared in campaign.shared():
            task.state.queue.add_shared(shared.loads, shared.stores, shared.times)
        if not task.is_scout:
            return
        executed: dict[Site, int] = store_counts(timeline.trace)
        task.state.executed = executed or task.state.executed
        expected: list[Forecast] = forecasts(timeline)
        for one in expected:
            task.state.queue.add_predicted(one.loads, one.stores, known=one.known, words=one.words)

    def _ending(self, campaign: Campaign, shown: Shown) -> Finding | None:
        """An execution that ended against its will, as a finding; None if that is known."""
        if campaign.died:
            verdict, how = Verdict(Outcome.CRASH, campaign.execution.code), campaign.ending
        else:
            verdict, how = Verdict(Outcome.HANG), "no thread can continue"
        return self.results.add_ending(campaign.last_places(), verdict, how, shown)

    def _hangs(self, campaign: Campaign) -> bool:
        """Whether an execution would never have ended: all threads wait; or none makes anything durable, for long."""
        if campaign.stopped is BoardStop.DEADLOCK:
            return True
        return campaign.stopped is BoardStop.TIMEOUT and 0 < self._slowest * _SLOWER < self.stage.limit

    # Figures

    @property
    def bugs(self) -> int:
        """Root causes that nothing excuses."""
        return sum(finding.severity == "error" for finding in list(self.results.findings.values()))

    def counts(self) -> dict[str, int]:
        """How far it is."""
        results = self.results
        return {
            "executions": self.executions,
            "alias_pairs": self.coverage.alias_pairs,
            "blocks": self.coverage.blocks,
            "inter_candidates": len(results.candidates[True]),
            "intra_candidates": len(results.candidates[False]),
            "inconsistencies": len(results.sorts),
            "benign": len(results.benign),
            "allow_listed": len(results.allowed),
            "waiting": len(results.cases) + len(results.rehearsals),
            "bugs": self.bugs,
            "images": self.validator.images,
            "equal_images": self.validator.equal,
        }

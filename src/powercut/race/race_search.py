"""The search for races: execute, learn, judge, until the budget ends or there is nothing left to try.

Before: a scheduler that chooses executions, a stage that performs them, results that judge what they show. After: the
results hold the findings, and `counts` says how much was done. Executions run at the same time, each in a thread of
ours that only waits for the tracer; what they show is judged one after the other.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import Event

from powercut.findings.finding import Finding
from powercut.interrupts import pass_on
from powercut.model.filesystem import FileSystem
from powercut.oracle.verdict import Outcome, Verdict
from powercut.race.board import BoardStop, Site
from powercut.race.campaign import Campaign, Stage
from powercut.race.coverage import Coverage
from powercut.race.forecast import Forecast, forecasts, store_counts
from powercut.race.inputs import Inputs
from powercut.race.reproduction import Reproduction
from powercut.race.results import RaceResults
from powercut.race.schedule import load_schedule
from powercut.race.scheduler import ExecutionScheduler, Task
from powercut.race.suspicions import Shown
from powercut.search.events import Found, Raced, Subscriber
from powercut.states.timeline import Timeline

_GLANCE = 0.25  # seconds between two looks at the clock
_SLOWER = 3  # times as long as any other execution of the program: then it hangs, and is not just slow


@dataclass(frozen=True, slots=True)
class RaceBudget:
    """When a search ends."""

    seconds: float
    bugs: float
    executions: float


@dataclass(frozen=True, slots=True)
class Learned:
    """What one execution brought."""

    campaign: Campaign
    forecasts: list[Forecast]
    executed: dict[Site, int]
    findings: list[Finding]
    output: bytes


@dataclass(slots=True)
class RaceSearch:
    """A search.

    Attributes:
        row: the model of the file system and the memory.
        stop: set when executions that are under way shall end.
        failures: how executions ended that did not end well, and how often.
        finished: there was nothing left to try.
    """

    stage: Stage
    scheduler: ExecutionScheduler
    inputs: Inputs
    results: RaceResults
    row: FileSystem
    tell: Subscriber
    stop: Event
    coverage: Coverage = field(default_factory=Coverage)
    executions: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    interrupted: bool = False
    finished: bool = False
    _reported: int = 0  # bugs, with all that belongs to them
    _slowest: float = 0.0  # seconds, of those that ended well
    _began: float = field(default_factory=time.monotonic)

    def run(self, jobs: int, budget: RaceBudget) -> None:
        """Search until the budget ends, or nothing is left to try."""
        under_way: dict[Future[Learned], Task] = {}
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while self._goes_on(budget, 0):
                    while (
                        len(under_way) < jobs
                        and self._goes_on(budget, len(under_way))
                        and (task := self.scheduler.next()) is not None
                    ):
                        under_way[pool.submit(self._perform, task)] = task
                    if not under_way:
                        self.finished = True
                        break
                    done, _ = wait(under_way, _GLANCE, FIRST_COMPLETED)
                    for future in done:
                        self.learn(under_way.pop(future), future.result())
                    self._progress(budget.seconds)
                    pass_on()
            except KeyboardInterrupt:
                self.interrupted = True
            finally:
                self.stop.set()

    def _goes_on(self, budget: RaceBudget, under_way: int) -> bool:
        in_time = time.monotonic() - self._began < budget.seconds
        return in_time and self._reported < budget.bugs and self.executions + under_way < budget.executions

    def file_hang(self, campaign: Campaign) -> None:
        """An execution of the first look that would never have ended."""
        self.executions += 1
        self.failures[campaign.ending] = self.failures.get(campaign.ending, 0) + 1
        shown = self._shown(campaign)
        hang = self._ending(campaign, shown)
        if hang is not None:
            self.tell(Found(hang))

    def _shown(self, campaign: Campaign) -> Shown:
        timeline = Timeline(campaign.execution.trace, self.row)
        return Shown(timeline, campaign.seed, campaign.schedule, campaign.thread_index, campaign.meetings())

    def _perform(self, task: Task) -> Learned:
        with self.stage.perform(task.state.seed, task.schedule, loads=task.is_scout) as campaign:
            return self.study(task, campaign)

    def study(self, task: Task, campaign: Campaign) -> Learned:
        """Judge what an execution showed."""
        shown = self._shown(campaign)
        findings = self.results.assess(shown)
        for finding in findings:
            self._reproduce(finding, campaign)
        if self._hangs(campaign) or campaign.died:
            ending = self._ending(campaign, shown)
            findings += [ending] if ending is not None else []
        trace = shown.timeline.trace
        expected, executed = (forecasts(shown.timeline), store_counts(trace)) if task.is_scout else ([], {})
        return Learned(campaign, expected, executed, findings, campaign.execution.printed[0].read_bytes())

    def _ending(self, campaign: Campaign, shown: Shown) -> Finding | None:
        """An execution that ended against its will, as a finding; None if that is known."""
        if campaign.died:
            verdict, how = Verdict(Outcome.CRASH, campaign.execution.code), campaign.ending
        else:
            verdict, how = Verdict(Outcome.HANG), "no thread can continue"
        return self.results.add_ending(campaign.last_places(), verdict, how, shown)

    def _reproduce(self, finding: Finding, campaign: Campaign) -> None:
        """Find out which schedule shows a bug again."""
        if finding.severity == "error" and finding.race is not None:
            exact = load_schedule(self.results.folder / finding.race.plan)
            calm = replace(self.stage, options=replace(self.stage.options, stop=None))  # also when the budget is over
            reproduction = Reproduction(calm, self.row)
            schedules = [exact, campaign.schedule] if exact != campaign.schedule else [exact]
            self.results.reschedule(finding, reproduction.best(finding, campaign.seed, schedules))

    def learn(self, task: Task, learned: Learned) -> None:
        """Take what an execution brought into account."""
        campaign = learned.campaign
        self.executions += 1
        if campaign.execution.outcome is Outcome.PASS:
            self._slowest = max(self._slowest, campaign.execution.seconds)
        else:
            self.failures[campaign.ending] = self.failures.get(campaign.ending, 0) + 1
        self.inputs.said(campaign.seed, learned.output)
        self.scheduler.told(task, *self.coverage.add(campaign.bitmaps), campaign.points)
        for shared in campaign.shared():
            task.state.queue.add_shared(shared.loads, shared.stores, shared.times)
        task.state.executed = learned.executed or task.state.executed
        for one in learned.forecasts:
            task.state.queue.add_predicted(one.loads, one.stores, known=one.known, words=one.words)
        for finding in learned.findings:
            self._reported += finding.severity == "error"
            self.tell(Found(finding))

    def _hangs(self, campaign: Campaign) -> bool:
        """Whether an execution would never have ended: all threads wait; or none makes anything durable, for long."""
        if campaign.stopped is BoardStop.DEADLOCK:
            return True
        return campaign.stopped is BoardStop.TIMEOUT and 0 < self._slowest * _SLOWER < self.stage.limit

    @property
    def bugs(self) -> int:
        """Root causes that nothing excuses."""
        return sum(finding.severity == "error" for finding in self.results.findings.values())

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
            "bugs": self.bugs,
            "images": results.validator.images,
            "equal_images": results.validator.equal,
        }

    def _progress(self, budget: float) -> None:
        passed = time.monotonic() - self._began
        self.tell(Raced(self.counts(), self.executions / max(passed, _GLANCE), max(0.0, budget - passed)))

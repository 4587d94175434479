"""Having images judged, once each: by the oracle, or by what an earlier run left.

Before: an executor that judges states. After: one record for every image that was met; each job is answered before its
record is, and an oracle that died or hung was asked twice. States that waited for a verdict that is no pass are handed
on as failures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from powercut.errors import EnvironmentFailure
from powercut.findings.questions import Question
from powercut.interrupts import pass_on
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.search.cache_check import CacheCheck
from powercut.search.crash_or_hang import CrashOrHang
from powercut.search.doubtful_states import DoubtfulStates
from powercut.search.events import Counts, Said, Subscriber
from powercut.search.image_keys import ImageKeys
from powercut.search.image_record import ImageRecord, Stage, Taken
from powercut.search.jobs import Executor, Job, Result, Watching
from powercut.search.verdict_cache import Key
from powercut.states.state import State


class ForksDisprovedError(EnvironmentFailure):
    """Forks of the check say something else than runs in the usual way, so none of their verdicts counts."""

    how = ""

    @classmethod
    def because(cls, how: str) -> ForksDisprovedError:
        """How they differ."""
        error = cls(
            "forks-differ",
            f"the check says something else if it is started once for many states ({how}).",
            "Use --no-fork-checks, which starts it for each state.",
        )
        error.how = how
        return error


@dataclass(frozen=True, slots=True)
class _Run:
    """A job that is not answered yet, whether it counts as a state tested, and since when it is asked."""

    job: Job
    record: ImageRecord
    counts: bool
    since: float = field(default_factory=time.monotonic)


class ImageJudging:
    """All images of one search.

    Attributes:
        notes: what the user should know.
        under_way: how many states that count are being judged.
        on_result: is told of every result before its record changes.
        doubtful: states of which the check did not say one thing.
    """

    def __init__(
        self,
        keys: ImageKeys,
        executor: Executor,
        cache: CacheCheck,
        counts: Counts,
        failed: Callable[[Taken], None],
        tell: Subscriber,
    ) -> None:
        """`failed` is given the states whose image the oracle refused."""
        self.notes: list[str] = []
        self.under_way = 0
        self.on_result: Callable[[Job, Result], None] | None = None
        self.doubtful = DoubtfulStates()
        self._keys = keys
        self._executor = executor
        self._cache = cache
        self._counts = counts
        self._failed = failed
        self._tell = tell
        self._records: dict[Key, ImageRecord] = {}
        self._runs: dict[int, _Run] = {}  # by the number of the job
        self._next_job = 0
        self._doubts = CrashOrHang(self._warn)

    def record(self, number: int, question: Question) -> ImageRecord:
        """The record of a state's image, with the output that is asked about."""
        return self._record(self._keys.key_of(number, question))

    def death(self, number: int, state: State) -> ImageRecord:
        """The record of where the oracle dies on a state."""
        digest, output = self._keys.key(number, state)
        return self._record((digest, ("traced", output)))

    def _record(self, key: Key) -> ImageRecord:
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = ImageRecord(key)
        return record

    @property
    def records(self) -> Iterator[ImageRecord]:
        """All of them."""
        yield from self._records.values()

    @property
    def running(self) -> int:
        """How many jobs are not answered."""
        return len(self._runs)

    @property
    def has_room(self) -> bool:
        """Whether another job can be given to the executor."""
        return self._executor.capacity() > 0

    def first_waiting(self) -> int | None:
        """The turn of the first state that waits for a verdict; None if no state does."""
        turns = (run.record.waiting[0].turn for run in self._runs.values() if run.record.waiting)
        return min(turns, default=None)

    @property
    def awaited(self) -> bool:
        """Whether a state waits for a verdict: what only answers questions may be left to itself."""
        return any(run.record.waiting for run in self._runs.values())

    def recall(self, record: ImageRecord, stage: Stage) -> Verdict | None:
        """The verdict of an earlier run, from now on one of this run's."""
        verdict = self._cache.find(record.key)
        if verdict is not None:
            record.recall(verdict, stage)
            self._doubts.recall(verdict)
        return verdict

    def submit(
        self,
        record: ImageRecord,
        number: int,
        question: Question,
        *,
        counts: bool = False,
        traced: bool = False,
        looks: Watching = Watching.NOT,
    ) -> None:
        """Have a state judged, whose record says that it runs."""
        state, output_until, unsaid = question
        self._submit(_Run(Job(self._next_job, number, state, output_until, traced, looks, unsaid), record, counts))

    def _submit(self, run: _Run) -> None:
        self._runs[run.job.id] = run
        self.under_way += run.counts
        self._executor.submit([run.job])
        self._next_job += 1

    def pump(self, timeout: float | None) -> None:
        """Take in what the workers have."""
        pass_on()
        for result in self._executor.results(timeout):
            run = self._runs.pop(result.id, None)
            if run is None:  # it was given up
                continue
            self._counts.checks += 1
            self._counts.forks += result.forked
            if result.disproved:
                raise ForksDisprovedError.because(result.disproved)
            self.under_way -= run.counts
            self.doubtful.answered(time.monotonic() - run.since)
            if result.contradiction:
                self.doubtful.contradiction(run.job.timeline, run.job.state, result.contradiction)
            if self.on_result is not None:
                self.on_result(run.job, result)
            if self._doubts.must_ask_again(run.record, result.verdict):
                again = replace(run.job, id=self._next_job, looks=Watching.NOT)
                self._submit(_Run(again, run.record, run.counts))
                continue
            first = run.record.first
            if first is not None and result.verdict.passed:
                said = f"{first.outcome.value} once, {result.verdict.outcome.value} another time"
                self.doubtful.contradiction(run.job.timeline, run.job.state, said)
            self._settle(run, result.verdict)

    def _settle(self, run: _Run, verdict: Verdict) -> None:
        record = run.record
        waiting = record.judge(verdict)
        if verdict.outcome is Outcome.ERROR:
            # Of a traceback, which an unbuildable image leaves, a user is shown what happened and not where.
            said = verdict.output.strip().splitlines() or ["it gave no reason"]
            reason = said[0] if len(said) == 1 else f"{said[0]}: {said[-1]}"
            raise EnvironmentFailure("check-cannot-run", f"the check could not be run: {reason}.")
        if not run.job.traced:
            self._cache.learn(record.key, verdict, record.first)
        self._counts.tested += run.counts
        self._counts.failed += run.counts and not verdict.passed
        if not verdict.passed:
            for taken in waiting:
                self._failed(taken)

    def give_up(self) -> int:
        """Wait for nothing any more; how many states that count have no verdict.

        What made the oracle crash or hang once fails: there was no time to ask again, but unknown is not a pass.
        """
        runs, self._runs = [*self._runs.values()], {}
        unanswered: list[_Run] = []
        for run in runs:
            self.under_way -= run.counts
            if run.record.first is not None:
                self._settle(run, run.record.first)
            elif run.counts:
                unanswered.append(run)
        now = time.monotonic()
        self.doubtful.gave_up((run.job.timeline, run.job.state, now - run.since) for run in unanswered)
        return len(unanswered)

    def _warn(self, note: str) -> None:
        self.notes.append(note)
        self._tell(Said(note, warning=True))

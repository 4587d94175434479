"""Running jobs in worker processes on this machine.

Before: timelines in memory and an oracle. After: exactly one result for every job, whatever happened to the worker
that ran it. A worker that dies while the oracle runs in it, or hangs in it, takes the verdict of that one job with it:
CRASH or HANG. The rest of its batch goes back into the queue, and another worker takes its place.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.image.image import Images
from powercut.image.scratch import ScratchError, ScratchPolicy, make_scratch
from powercut.oracle.protocol import Oracle
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.jobs import Job, Result
from powercut.search.messages import FailureMessage, Message, Phase
from powercut.search.worker import Setup, home_name
from powercut.search.worker_process import WorkerProcess

_LOOK_SECONDS = 0.1  # how often hanging workers are looked for
_BUILD_LIMIT = 600.0  # seconds after which building one image counts as stuck
_START_LIMIT = 60.0
_STARTS = 5  # workers that die at their start, one after the other, until that is an error
_IDLE_DEATHS = 100  # workers that die between two jobs, without a result in between: no bad luck any more
_TRIES = 2  # how often a job is given to a worker that dies before judging it


class WorkerError(EnvironmentFailure):
    """A worker could not be started."""


class LocalExecutor:
    """Runs jobs on this machine's cores."""

    def __init__(
        self,
        images: Sequence[Images],
        oracle: Oracle,
        data_dir: Path,
        workers: int,
        timeout: float,
        scratch: ScratchPolicy,
        namespaces: bool,
    ) -> None:
        data_dir = data_dir.resolve()
        self._timeout = timeout + oracle.slack
        self._queue: deque[Job] = deque()
        self._tries: dict[int, int] = {}
        self._done: list[Result] = []
        self._workers: list[WorkerProcess] = []
        self._selector = selectors.DefaultSelector()
        self._scratch = make_scratch(scratch, data_dir, workers, namespaces)
        self._setup = Setup(images, oracle, data_dir, self._scratch, namespaces)
        self._looked = 0.0
        self._failed_starts = 0
        self._idle_deaths = 0  # since the last result
        self._closed = False
        try:
            for number in range(workers):
                self._start(number)
            self._await_ready()
        except BaseException:
            self.close()
            raise

    # What the engine sees

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue jobs in order."""
        self._queue.extend(jobs)
        self._dispatch()

    def results(self, timeout: float | None) -> list[Result]:
        """Results that came in; waits for the first while jobs are running, at most for the time given."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._done and self._outstanding():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left < 0:
                break
            self._dispatch()
            self._listen(_LOOK_SECONDS if left is None else min(left, _LOOK_SECONDS))
            self._look_for_hangs()
        self._dispatch()
        done, self._done = self._done, []
        return done

    def capacity(self) -> int:
        """How many more jobs keep all workers busy until they are asked for again."""
        return max(0, sum(2 * worker.depth for worker in self._workers) - self._outstanding())

    def notes(self) -> list[str]:
        """Workers that died took a verdict with them, which says so."""
        return []

    def close(self) -> None:
        """End all workers at once, reap them, remove their images."""
        if self._closed:
            return
        self._closed = True
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.reap()
        self._selector.close()
        self._scratch.remove()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Workers

    def _start(self, number: int) -> None:
        worker = WorkerProcess(self._setup, number, [other.socket for other in self._workers])
        self._workers.append(worker)
        self._selector.register(worker.socket, selectors.EVENT_READ, worker)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _START_LIMIT
        while not all(worker.ready for worker in self._workers):
            if time.monotonic() > deadline:
                raise WorkerError("worker-slow", f"The workers did not start within {_START_LIMIT:.0f} seconds.")
            self._listen(_LOOK_SECONDS)

    def _outstanding(self) -> int:
        return len(self._queue) + sum(len(worker.running) for worker in self._workers)

    def _dispatch(self) -> None:
        """Give each worker that runs low a batch of neighbours."""
        for worker in sorted(self._workers, key=lambda worker: len(worker.running)):
            if self._queue and worker.ready and len(worker.running) <= worker.depth // 2:
                count = min(worker.depth - len(worker.running), len(self._queue))
                worker.give([self._queue.popleft() for _ in range(count)])
            self._watch_writes(worker)

    def _watch_writes(self, worker: WorkerProcess) -> None:
        waits = bool(worker.unsent)
        if waits != worker.waits_for_room:
            worker.waits_for_room = waits
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if waits else 0)
            self._selector.modify(worker.socket, wanted, worker)

    def _listen(self, seconds: float) -> None:
        for key, events in self._selector.select(seconds):
            worker: WorkerProcess = key.data
            if events & selectors.EVENT_WRITE:
                worker.send()
            if events & selectors.EVENT_READ:
                alive = worker.receive()
                for kind, content in worker.messages():
                    self._handle(worker, kind, content)
                if not alive:
                    self._replace(worker)

    def _handle(self, worker: WorkerProcess, kind: Message, content: object) -> None:
        if kind is Message.READY:
            worker.ready = True
            self._failed_starts = 0
        elif kind is Message.FAILED:
            assert isinstance(content, FailureMessage)
            slug, message, hint = content.words()
            error = ScratchError if slug.startswith("scratch") else WorkerError
            raise error(slug, message, hint)
        elif kind is Message.RESULTS:
            assert isinstance(content, list)
            self._idle_deaths = 0
            for packed in content:
                result = packed.result()
                if worker.running.pop(result.id, None) is not None:
                    self._finish(result)
            worker.count(len(content))

    def _finish(self, result: Result) -> None:
        self._tries.pop(result.id, None)
        self._done.append(result)

    # Deaths

    def _look_for_hangs(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        for worker in list(self._workers):
            phase, _, since = worker.slot.read()
            limit = {Phase.JUDGING: self._timeout, Phase.BUILDING: _BUILD_LIMIT}.get(phase)
            if limit is not None and now - since > limit and worker.running:
                worker.hung = True
                worker.kill()  # its socket closes: the rest is as for any death

    def _replace(self, worker: WorkerProcess) -> None:
        """Settle what a dead worker was doing, put back the rest, start another."""
        self._selector.unregister(worker.socket)
        self._workers.remove(worker)
        status = worker.reap()
        self._scratch.remove_home(home_name(worker.number, worker.pid))
        self._failed_starts += not worker.ready
        if self._failed_starts >= _STARTS:
            raise WorkerError("worker-died", f"A worker died at its start: {_ending(status)}.")
        phase, number, since = worker.slot.read()
        job = worker.running.get(number)
        self._idle_deaths += job is None
        if self._idle_deaths >= _IDLE_DEATHS:
            raise WorkerError("worker-died", f"Workers die again and again between two checks: {_ending(status)}.")
        if job is not None:
            verdict = self._verdict_of_death(worker, phase, job, status, time.monotonic() - since)
            if verdict is not None:
                del worker.running[number]
                self._finish(Result(number, verdict))
        self._queue.extendleft(reversed(worker.running.values()))
        self._start(worker.number)

    def _verdict_of_death(
        self, worker: WorkerProcess, phase: Phase, job: Job, status: int, seconds: float
    ) -> Verdict | None:
        """The verdict on the job that a worker died with; None when it deserves another try."""
        if phase is Phase.JUDGING and worker.hung:
            return Verdict(Outcome.HANG, 0, "the check did not return in time", seconds)
        if phase is Phase.JUDGING:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            return Verdict(Outcome.CRASH, number, f"the check ended the worker process: {_ending(status)}", seconds)
        self._tries[job.id] = self._tries.get(job.id, 0) + 1
        if self._tries[job.id] < _TRIES:
            return None
        return Verdict(Outcome.ERROR, 0, f"the worker died while it built the image: {_ending(status)}", seconds)


def _ending(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"exit status {os.WEXITSTATUS(status)}"
    number = os.WTERMSIG(status)
    memory = ", perhaps because memory ran out" if number == signal.SIGKILL else ""
    return f"signal {number} ({signal.strsignal(number)}){memory}"

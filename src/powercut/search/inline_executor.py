"""An executor for oracles that read images without building them: it judges where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from powercut.oracle.builtin import BuiltinOracle
from powercut.search.jobs import Job, Result
from powercut.states.timeline import Timeline


class InlineExecutor:
    """Judges in the engine's own process."""

    def __init__(self, timelines: Sequence[Timeline], oracle: BuiltinOracle) -> None:
        self._timelines = timelines
        self._oracle = oracle
        self._done: list[Result] = []

    def submit(self, jobs: Sequence[Job]) -> None:
        """Judge at once."""
        for job in jobs:
            verdict = self._oracle.judge(self._timelines[job.timeline], job.state, job.output_until)
            self._done.append(Result(job.id, verdict))

    def results(self, timeout: float | None) -> list[Result]:
        """What was judged since the last call."""
        done, self._done = self._done, []
        return done

    def capacity(self) -> int:
        """One state after the other, so that findings come as soon as they can."""
        return 1 - len(self._done)

    def notes(self) -> list[str]:
        """Nothing can go wrong."""
        return []

    def close(self) -> None:
        """Nothing to end."""

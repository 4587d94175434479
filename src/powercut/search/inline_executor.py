"""An executor for oracles that read images without building them: it judges where it stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from powercut.oracle.builtin import BuiltinOracle
from powercut.search.jobs import Job, Result
from powercut.states.timeline import Timeline

_FEW = 3  # names that are told


def _listed(names: Collection[bytes]) -> str:
    told = [name.decode("utf-8", "replace") for name in sorted(names)]
    more = f" and {len(told) - _FEW} more" if len(told) > _FEW else ""
    return ", ".join(told[:_FEW]) + more


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

    def taken_for(self) -> str:
        """What the oracle took files for, where that is not plain; empty if it is."""
        appended, whole = (_listed(names) for names in (self._oracle.appended_names(), self._oracle.whole_names()))
        if not appended:
            return ""
        others = f"; replaced, so old or new and nothing between: {whole}" if whole else ""
        return f"the built-in check takes as appended, so that only what was put there must stay: {appended}{others}"

    def close(self) -> None:
        """Nothing to end."""

"""How the states of a run are judged: by which oracle, where it runs, and what earlier runs of it left.

Before: settings, and timelines of one trace. After: an executor that gives one result for each job, and what stands for
what the oracle holds the program to; a check that refuses the folder without any crash is refused itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from powercut.errors import EnvironmentFailure, UsageError
from powercut.image.digest import IMAGE_FORMAT
from powercut.image.scratch import ScratchPolicy
from powercut.image.state_image import StateImages
from powercut.image.survey import looks_now
from powercut.oracle.builtin import BuiltinOracle
from powercut.oracle.callable import CallableOracle
from powercut.oracle.check_command import check_command, check_environment, told_digest
from powercut.oracle.command import CommandOracle
from powercut.oracle.fingerprint import fingerprint
from powercut.quick_dataclass import dataclass
from powercut.search.equivalence import Equivalence
from powercut.search.inline_executor import InlineExecutor
from powercut.search.jobs import Executor, Job, Result
from powercut.search.local_executor import LocalExecutor
from powercut.search.node import Setup
from powercut.search.ray_executor import RayExecutor
from powercut.search.verdict_cache import VerdictCache, Warn
from powercut.settings import Settings
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

LAST_LINES = 20  # of what a check said
Check = Callable[..., object]
OutputKey = Callable[[Timeline, int, frozenset[int]], Hashable]


@dataclass(frozen=True, slots=True)
class Judging:
    """What judges the states of some timelines.

    Attributes:
        function: a Python function instead of the command of the settings.
        views: whether the check sees images at the data folder's own path.
    """

    settings: Settings
    cwd: Path
    function: Check | None
    timelines: Sequence[Timeline]
    views: bool

    @property
    def builtin(self) -> bool:
        """Whether there is no check but ours."""
        return self.function is None and self.settings.check is None

    def executor(self, *, anywhere: bool) -> tuple[Executor, OutputKey]:
        """What runs the oracle; not `anywhere`, on this machine: others know only what a trace and a model tell."""
        if self.builtin:
            oracle = BuiltinOracle(self.timelines[0])
            return InlineExecutor(self.timelines, oracle), oracle.output_key
        if anywhere and self.settings.executor == "ray":
            return self._on_ray(), told_digest()
        return self._here(), told_digest()

    def equivalence(self) -> Equivalence | None:
        """Which states need no run. For commands that run here: a function cannot be watched."""
        settings = self.settings
        if self.builtin or self.function is not None or settings.executor != "local" or settings.equivalence is False:
            return None
        return Equivalence(self._images, self._workers, always=settings.equivalence is True)

    @property
    def _images(self) -> list[StateImages]:
        return [StateImages(timeline) for timeline in self.timelines]

    @property
    def _workers(self) -> int:
        return self.settings.workers or os.cpu_count() or 1

    def kept(self, output: Path, warn: Warn, *, use: bool) -> VerdictCache | None:
        """What earlier runs of the same check left. The built-in check is quick, and a function could be any other."""
        if self.builtin or self.function is not None:
            return None
        return VerdictCache(output, self._fingerprint(), warn, use=use)

    def _here(self) -> LocalExecutor:
        if self.function is not None:
            oracle: CallableOracle | CommandOracle = CallableOracle(self.function)
        else:
            closely, environment = self.settings.equivalence is True, check_environment(self.timelines[0])
            forks = self.settings.fork_checks
            oracle = CommandOracle(self._argv, self.settings.timeout, environment, closely=closely, forks=forks)
        scratch = ScratchPolicy(Path(self.settings.scratch) if self.settings.scratch else None, self._base_size())
        folder = Path(self.timelines[0].trace.folder)
        return LocalExecutor(
            self._images, oracle, folder, self._workers, self.settings.timeout, scratch, namespaces=self.views
        )

    def _on_ray(self) -> RayExecutor:
        if self.function is not None:
            raise UsageError(
                "ray-needs-command",
                "--executor ray runs checks that are commands, not Python functions.",
                "Give a command as the check, or use --executor local.",
            )
        if self.timelines[0].trace.rest is not None:
            raise UsageError(
                "rest-not-recorded",
                "the trace holds only what the program touched; the nodes of a Ray cluster do not have the rest.",
                "Record it again with --executor ray, or use --executor local.",
            )
        return RayExecutor(self.timelines[0].trace.content, self.node_setup(), self.settings.ray_address)

    def node_setup(self) -> Setup:
        """What another machine must know to judge as this one does."""
        settings = self.settings
        return Setup(
            name="",
            fs=settings.fs,
            memory=settings.memory,
            tear=settings.tear,
            argv=self._argv,
            env=check_environment(self.timelines[0]),
            timeout=settings.timeout,
            folder=self.timelines[0].trace.folder,
            views=self.views,
            workers=settings.workers,
            scratch=settings.scratch,
            need=self._base_size(),
            check=self._fingerprint(),
            facts=self._facts(),
        )

    @property
    def _argv(self) -> list[str]:
        return check_command(self.settings.check or "", self.cwd, Path(self.timelines[0].trace.folder))

    def _facts(self) -> dict[str, str | int | float | bool]:
        """How the check is asked."""
        trace = self.timelines[0].trace
        facts: dict[str, str | int | float | bool] = {"images": IMAGE_FORMAT, "timeout": self.settings.timeout}
        facts |= {"folder": trace.folder, "view": self.views}
        if trace.rest is not None:  # what images do not hold, checks see all the same
            facts["rest"] = looks_now(Path(trace.folder), trace.rest).hex()
        facts["forks"] = self.settings.fork_checks and self.settings.executor == "local"
        return facts

    def _fingerprint(self) -> bytes:
        return fingerprint(self._argv, check_environment(self.timelines[0]), self._facts())

    def _base_size(self) -> int:
        return sum(length for thing in self.timelines[0].tree.things for _, length, _ in thing.base_data)


def check_final_state(executor: Executor, timeline: Timeline, timeout: float, *, function: bool = False) -> None:
    """A check that fails on the state after a clean end would fail everywhere; a Python `function` has no status."""
    executor.submit([Job(-1, 0, State(timeline.end, Base.ISSUED, frozenset()))])
    results: list[Result] = []
    while not results:
        results = executor.results(None)
    verdict = results[0].verdict
    if verdict.passed:
        return
    how = {"crash": f"crashed (signal {verdict.code})", "hang": f"did not end within {timeout:g} s"}
    failed = "failed" if function or not verdict.code else f"exited with {verdict.code}"
    words = "\n".join(verdict.output.strip().splitlines()[-LAST_LINES:])
    output = f" Output of the check:\n{words}" if words else ""
    raise EnvironmentFailure(
        "check-fails-on-final-state",
        f"the check fails even without a crash: it {how.get(verdict.outcome.value, failed)} on the folder that the "
        "program left.",
        f"Fix that first.{output}",
    )

"""Judging crash images by a command, outside of the tracer: a check, or a recovery where only its end counts.

Before: states of a timeline, and a command. After: a verdict for each, or none if the search was stopped meanwhile.
Several threads of ours judge at the same time. Whatever Python does with timelines is done under the workbench, a lock:
workers are forked, and what a fork copies must not be half made. Waiting for a worker is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from threading import Condition, Event

from powercut.findings.explaining_time import Over, never
from powercut.findings.questions import Question
from powercut.image.scratch import ScratchPolicy
from powercut.image.state_image import StateImages
from powercut.oracle.check_command import check_environment
from powercut.oracle.command import CommandOracle
from powercut.oracle.verdict import Verdict
from powercut.quick_dataclass import dataclass
from powercut.search.jobs import Job
from powercut.search.local_executor import LocalExecutor
from powercut.states.state import State
from powercut.states.timeline import Timeline

_GLANCE = 0.2  # seconds between two looks at whether to stop


class Stopped(BaseException):
    """The search is over; nobody waits for this any more."""


@dataclass(frozen=True, slots=True)
class ImageJudge:
    """A command that judges images.

    Attributes:
        folder: the data folder, at whose path the command sees the image if `views` are possible.
        stop: once it is set, what is under way is given up.
    """

    command: Sequence[str]
    folder: Path
    timeout: float
    stop: Event
    views: bool
    workbench: Condition = field(default_factory=Condition)
    scratch: Path | None = None

    def __call__(self, timeline: Timeline, state: State) -> Verdict:
        """What the command says of one state."""
        (verdict,) = self.verdicts(timeline, [Question(state)])
        if verdict is None:
            raise Stopped
        return verdict

    def verdicts(self, timeline: Timeline, questions: Sequence[Question], over: Over = never) -> list[Verdict | None]:
        """What it says of some; None where time was over."""
        if self.stop.is_set() or over():
            return [None] * len(questions)
        with self.workbench:
            executor = self._executor(timeline)
        try:
            executor.submit([_job(number, question) for number, question in enumerate(questions)])
            found: dict[int, Verdict] = {}
            while len(found) < len(questions) and not self.stop.is_set() and not over():
                with self.workbench:  # a worker that died is forked anew
                    done = executor.results(0.0)
                found |= {result.id: result.verdict for result in done or executor.results(_GLANCE)}
            return [found.get(number) for number in range(len(questions))]
        finally:
            executor.close()

    def _executor(self, timeline: Timeline) -> LocalExecutor:
        oracle = CommandOracle(self.command, self.timeout, check_environment(timeline))
        images, policy = [StateImages(timeline)], ScratchPolicy(self.scratch)
        return LocalExecutor(images, oracle, self.folder, 1, self.timeout, policy, self.views)


def _job(number: int, question: Question) -> Job:
    return Job(number, 0, question.state, question.output_until, unsaid=question.unsaid)

"""Judges states with equivalence and all of them without, and compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.findings.questions import Question
from powercut.image.scratch import ScratchPolicy
from powercut.image.state_image import StateImages
from powercut.oracle.command import CommandOracle
from powercut.oracle.verdict import Verdict
from powercut.search.decision_tree import says_the_same
from powercut.search.equivalence import Equivalence
from powercut.search.jobs import Job, Result, Watching
from powercut.search.local_executor import LocalExecutor
from powercut.states.state import State
from powercut.states.timeline import Timeline

WORKERS = 2


@dataclass
class Comparison:
    """What came of it."""

    skipped: int  # states that equivalence did not run
    ran: int
    wrong: list[tuple[State, Verdict]]  # states on which the check says something else, and what
    not_understood: list[str]
    notes: list[str]


def compare(
    timeline: Any,
    states: Sequence[State],
    check: Sequence[str],
    data: Path,
    views: bool,
    *,
    closely: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Comparison:
    """Have every state judged by the check, and then again as far as equivalence needs it."""
    oracle = CommandOracle(check, 20.0, environment, closely=closely)
    images = [StateImages(timeline) if isinstance(timeline, Timeline) else timeline]
    with LocalExecutor(images, oracle, data, WORKERS, 20.0, ScratchPolicy(), views) as executor:
        truth = _judge(executor, [Job(number, 0, state) for number, state in enumerate(states)])
        equivalence = Equivalence(images, WORKERS, always=True)
        comparison = Comparison(0, 0, [], [], equivalence.notes)
        for number, state in enumerate(states):
            decided = equivalence.decide(0, Question(state))
            if isinstance(decided, Verdict):
                comparison.skipped += 1
                if not says_the_same(decided, truth[number].verdict):
                    comparison.wrong.append((state, truth[number].verdict))
                continue
            comparison.ran += 1
            job = Job(number, 0, state, looks=decided)
            result = truth[number] if decided is Watching.NOT else _judge(executor, [job])[number]
            assert says_the_same(result.verdict, truth[number].verdict)
            if result.watched is not None and result.watched.asked is None:
                comparison.not_understood.append(result.watched.why)
            equivalence.learn(job, result)
    return comparison


def _judge(executor: LocalExecutor, jobs: Iterable[Job]) -> dict[int, Result]:
    waiting = list(jobs)
    wanted = len(waiting)
    done: dict[int, Result] = {}
    executor.submit(waiting)
    while len(done) < wanted:
        done.update((result.id, result) for result in executor.results(1.0))
    return done

"""How many checks a search runs until it has found the bugs of a run with many: for its states, and to explain them."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

from judge import Judge
from orders import Order
from seeded import Several

from powercut.search.budget import Budget
from powercut.search.events import Event, Found
from powercut.search.exploration import Exploration
from powercut.search.jobs import Job

MOST_CHECKS = 800  # of one search
MOST_SECONDS = 120.0


class _Counting:
    """An executor that counts its jobs, and ends the search after some."""

    def __init__(self, judge: Judge) -> None:
        self._executor = judge.executor
        self.checks = 0

    def submit(self, jobs: Sequence[Job]) -> None:
        """Count and go on."""
        self.checks += len(jobs)
        if self.checks > MOST_CHECKS:
            raise KeyboardInterrupt
        self._executor.submit(jobs)

    def __getattr__(self, name: str) -> object:
        return getattr(self._executor, name)


def checks_until_found(many: Several, order: Order) -> list[str]:
    """Findings, bugs, and the checks that were run until each bug was found, as text."""
    judge = Judge(many.known, many.trace)  # one that knows no verdicts
    executor, findings, at = _Counting(judge), 0, dict[str, int]()
    number = next(iter(judge.searched))

    def tell(event: Event) -> None:
        nonlocal findings
        if isinstance(event, Found):
            findings += 1
            for bug in many.bugs:
                if bug not in at and many.shows((number, event.finding.state.state()), bug):
                    at[bug] = executor.checks

    with patch("powercut.search.exploration.joint_queue", lambda timelines, *_: order(timelines)):
        search = Exploration(judge.timelines, executor, judge.output_key, Budget(MOST_SECONDS), 0, tell)
        search.run()
    judge.close()
    return [str(findings), f"{len(at)} of {len(many.bugs)}", ", ".join(map(str, sorted(at.values())))]

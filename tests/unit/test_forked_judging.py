"""What a worker makes of forks that say something else than a check that was started anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from powercut.oracle.protocol import Told
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.forked_judging import ForkedJudging, Judged
from powercut.search.jobs import Job
from tests.unit.plain_images import state

PASS, FAIL = Verdict(Outcome.PASS), Verdict(Outcome.FAIL, 1)


@dataclass
class Scripted:
    """An oracle whose forks and fresh runs say what is written down; forks may not fit the image any more."""

    by_fork: list[Verdict | None]
    anew: list[Verdict]
    forked: bool = False
    stopped: list[str] = field(default_factory=list)

    def judge(self, *_: object) -> Verdict:
        said = self.by_fork.pop(0)
        self.forked = said is not None
        return self.anew[0] if said is None else said

    def judge_anew(self, *_: object) -> Verdict:
        self.forked = False
        return self.anew.pop(0) if len(self.anew) > 1 else self.anew[0]

    def must_be_proved(self, _: Verdict) -> bool:
        return True

    def stop_forking(self, why: str) -> None:
        self.stopped.append(why)


class Still:
    """A folder that need not move."""

    def move_to(self, _: object) -> None: ...

    def collect(self) -> None: ...


def judge(oracle: Scripted) -> Judged:
    judging = ForkedJudging(cast(Any, oracle), cast(Any, Still()), Path("."), lambda: None)
    return judging.judge(Job(0, 0, state(0)), Told())


def test_a_fork_that_says_the_same_is_proved() -> None:
    oracle = Scripted([PASS], [PASS])
    assert (judge(oracle).verdict, judge(Scripted([PASS], [PASS])).disproved, oracle.stopped) == (PASS, "", [])


@pytest.mark.parametrize("again", [[FAIL, FAIL], [FAIL, None], [None, None]])
def test_forks_that_differ_are_disproved_also_if_they_do_not_fit_when_asked_again(again: list[Verdict | None]) -> None:
    oracle = Scripted([FAIL, *again], [PASS])
    judged = judge(oracle)
    assert (judged.verdict, judged.forked) == (PASS, False)
    assert judged.disproved == "fail when it is forked, pass when it is started"
    assert oracle.stopped == [judged.disproved]


@pytest.mark.parametrize(("forks", "anew"), [([FAIL, PASS, FAIL], [PASS]), ([FAIL, FAIL, FAIL], [PASS, FAIL, PASS])])
def test_a_check_that_contradicts_itself_is_told_and_not_forked_any_more(
    forks: list[Verdict | None], anew: list[Verdict]
) -> None:
    oracle = Scripted(forks, anew)
    judged = judge(oracle)
    assert (judged.verdict, judged.disproved, len(oracle.stopped)) == (PASS, "", 1)
    assert judged.contradiction == "fail once, pass another time"

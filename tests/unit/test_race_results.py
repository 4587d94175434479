"""The results of a race search judge what executions show until it is clear, one finding for each root cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.race.allow import AllowList
from powercut.race.recovery import Recovery
from powercut.race.results import RaceResults
from powercut.race.schedule import Schedule
from powercut.race.suspicions import Shown
from powercut.race.validation import Validator
from powercut.record.recorder import RecordOptions
from tests.unit.race_kit import RaceTrace

ONE, TWO = 11, 12
OVERWRITE = "printf 12345678 | dd of=pool bs=1 seek=128 conv=notrunc status=none"


@pytest.fixture
def results(tmp_path: Path) -> RaceResults:
    data, scratch, run = (tmp_path / name for name in ("data", "scratch", "run"))
    for folder in (data, scratch, run):
        folder.mkdir()
    recovery = Recovery(["sh", "-c", OVERWRITE], RecordOptions(data, data, scratch / "t"), scratch, 10.0)
    return RaceResults(run, Validator(recovery, None), AllowList({}))


def shown() -> Shown:
    """An execution in which a thread stores something that depends on what another one has not made durable."""
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.store(TWO, 128, 9)
    race.effect(TWO, number)
    race.persist(ONE, 0)
    return Shown(race.timeline(), b"", Schedule(), {ONE: 1, TWO: 2}, {})


def test_what_is_benign_is_judged_again_in_other_executions_less_and_less_often(results: RaceResults) -> None:
    asked = []
    for _ in range(9):
        assert results.assess(shown()) == []
        asked.append(results.validator.images + results.validator.equal)
    assert asked == [1, 2, 2, 3, 3, 3, 3, 4, 4]
    assert len(results.benign) == 1

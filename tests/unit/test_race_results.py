"""The results of a race search judge what executions show until it is clear, one finding for each root cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from powercut.findings.finding import Finding, FindingKind, Location
from powercut.oracle.verdict import Outcome, Verdict
from powercut.race.allow import AllowList
from powercut.race.recovery import Recovery
from powercut.race.reproduction import Rehearsal
from powercut.race.results import RaceResults
from powercut.race.schedule import Schedule
from powercut.race.suspicions import Shown
from powercut.race.validation import Judged, Standing, Validator
from powercut.record.recorder import RecordOptions
from tests.unit.race_kit import RaceTrace

ONE, TWO = 11, 12
OVERWRITE = "printf 12345678 | dd of=pool bs=1 seek=128 conv=notrunc status=none"


class Execution:
    """Counts who keeps the files of an execution."""

    kept = 0

    def keep(self) -> None:
        self.kept += 1

    def let_go(self) -> None:
        self.kept -= 1


@pytest.fixture
def validator(tmp_path: Path) -> Validator:
    data, scratch = (tmp_path / name for name in ("data", "scratch"))
    for folder in (data, scratch):
        folder.mkdir()
    return Validator(Recovery(["sh", "-c", OVERWRITE], RecordOptions(data, data, scratch / "t"), scratch, 10.0), None)


@pytest.fixture
def results(tmp_path: Path) -> RaceResults:
    (tmp_path / "run").mkdir()
    return RaceResults(tmp_path / "run", AllowList({}))


def shown(folder: Path) -> Shown:
    """An execution in which a thread stores something that depends on what another one has not made durable."""
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.store(TWO, 128, 9)
    race.effect(TWO, number)
    race.persist(ONE, 0)
    timeline = race.timeline()
    timeline.trace.name = str(folder / "trace")
    Path(timeline.trace.name).write_bytes(b"the trace")
    return Shown(timeline, b"", Schedule(), {ONE: 1, TWO: 2}, {})


def judged_by(standing: Standing) -> Judged:
    return Judged(standing, "so it is", 0, Verdict(Outcome.PASS))


def bug(results: RaceResults, folder: Path) -> Rehearsal:
    """A case that was judged to be a bug, and is to be executed again."""
    results.take(shown(folder), Execution())
    case = results.next_case()
    assert case is not None
    assert results.settle(case, judged_by(Standing.BUG)) is None
    (rehearsal,) = results.rehearsals
    return rehearsal


def rehearse(rehearsal: Rehearsal, *answers: bool) -> None:
    for seen in answers:
        schedule = rehearsal.next()
        assert schedule is not None
        rehearsal.told(schedule, seen=seen)


def test_what_is_benign_is_judged_again_in_other_executions_less_and_less_often(
    results: RaceResults, validator: Validator, tmp_path: Path
) -> None:
    asked, execution = [], Execution()
    for _ in range(9):
        results.take(shown(tmp_path), execution)
        while (case := results.next_case()) is not None:
            assert results.settle(case, case.judge(validator)) is None
        assert results.findings == {}
        asked.append(validator.images + validator.equal)
    assert asked == [1, 2, 2, 3, 3, 3, 3, 4, 4]
    assert len(results.benign) == 1
    assert execution.kept == 0


def test_what_was_seen_is_a_candidate_at_once_with_all_that_replays_it(results: RaceResults, tmp_path: Path) -> None:
    (candidate,) = results.take(shown(tmp_path), Execution())
    assert candidate.race is not None
    assert (candidate.race.standing, candidate.severity) == ("candidate", "note")
    home = tmp_path / "run" / "races" / candidate.id
    assert {path.name for path in home.iterdir()} == {"trace", "seed", "schedule.json"}
    assert results.take(shown(tmp_path), Execution()) == []


def test_a_bug_is_told_when_its_replay_has_shown_it_again(results: RaceResults, tmp_path: Path) -> None:
    rehearsal = bug(results, tmp_path)
    rehearse(rehearsal, *[True] * 7, False, True, True)
    assert rehearsal.next() is None
    found = results.rehearsed(rehearsal)
    assert found.race is not None
    assert (found.severity, found.race.standing, found.race.why) == ("error", "bug", "so it is")
    assert (found.race.seen, found.race.tries) == (9, 10)


def test_what_does_not_replay_stays_a_candidate_and_says_how_often_it_was_seen(
    results: RaceResults, tmp_path: Path
) -> None:
    rehearsal = bug(results, tmp_path)
    rehearse(rehearsal, True, False, False)
    assert rehearsal.is_over
    found = results.rehearsed(rehearsal)
    assert found.race is not None
    assert (found.severity, found.race.standing) == ("note", "candidate")
    assert found.race.why == "so it is, but only 1 of 3 replays showed it again"


def test_a_rehearsal_that_was_cut_short_says_what_is_known(results: RaceResults, tmp_path: Path) -> None:
    rehearsal = bug(results, tmp_path)
    rehearse(rehearsal, True, True, False)
    results.cut_short(rehearsal)
    race = rehearsal.finding.race
    assert race is not None
    assert (race.standing, race.seen, race.tries) == ("candidate", 2, 3)
    assert race.why == "so it is; 2 of 3 replays showed it again before the time was over"


def test_another_schedule_is_rehearsed_where_the_exact_one_cannot_do_any_more() -> None:
    exact, whole = Schedule(seed=1), Schedule(seed=2)
    rehearsal = Rehearsal(None, b"", [exact, whole])  # type: ignore[arg-type]
    rehearse(rehearsal, True, False, False, *[True] * 10)
    assert rehearsal.succeeded
    assert rehearsal.is_over
    assert rehearsal.best == (whole, 10, 10)


def test_a_rehearsal_waits_for_executions_that_are_under_way() -> None:
    rehearsal = Rehearsal(None, b"", [Schedule()])  # type: ignore[arg-type]
    assert all(rehearsal.next() is not None for _ in range(10))
    assert rehearsal.next() is None
    assert not rehearsal.is_over


def crash_bug(results: RaceResults, race: Finding) -> tuple[Finding, Execution]:
    """A plain crash bug that loses what a race stores, given to the results."""
    lost = Location("a.c", 7, "run", "lost", "")
    race.locations[0] = replace(race.locations[0], file="a.c", line=7)
    finding = replace(race, id="12345678", kind=FindingKind.ORDERING, race=None, locations=[lost], severity="error")
    return finding, Execution()


@pytest.mark.parametrize("standing", [Standing.UNCONFIRMED, Standing.BUG])
def test_a_plain_crash_bug_waits_for_the_verdict_on_a_race_that_loses_the_same(
    results: RaceResults, tmp_path: Path, standing: Standing
) -> None:
    execution = shown(tmp_path)
    (candidate,) = results.take(execution, Execution())
    finding, keeper = crash_bug(results, candidate)
    case = results.next_case()
    assert case is not None
    assert results.add_crash_bug(finding, execution, keeper) is None
    assert (list(results.released()), keeper.kept) == ([], 1)
    results.settle(case, judged_by(standing))
    results.findings[candidate.id].locations[0] = candidate.locations[0]
    told = list(results.released(all_of_them=True))
    assert (told, keeper.kept) == ([finding] if standing is Standing.UNCONFIRMED else [], 0)

"""The record of one image: what is known of it at each stage of its life."""

from __future__ import annotations

from powercut.findings.questions import Question
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.image_record import ImageRecord, Stage, Taken
from powercut.states.state import Base, State

PASS, FAIL, HANG = (Verdict(outcome) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.HANG))
ONE, OTHER = (Taken(turn, 0, Question(State(turn, Base.ISSUED, frozenset()))) for turn in (1, 2))


def test_states_that_wait_get_the_verdict_once() -> None:
    record = ImageRecord((1, b""))
    assert (record.stage, record.known) == (Stage.UNTESTED, None)
    record.run(ONE)
    record.wait(OTHER)
    assert (record.is_running, record.known) == (True, None)
    assert record.judge(FAIL) == [ONE, OTHER]
    assert (record.stage, record.known, record.waiting) == (Stage.JUDGED, FAIL, None)


def test_a_prediction_is_known_but_not_seen_and_can_be_doubted() -> None:
    record = ImageRecord((1, b""))
    record.predict(FAIL)
    assert (record.stage, record.known, record.verdict) == (Stage.PREDICTED, FAIL, None)
    record.doubt()
    assert (record.stage, record.known) == (Stage.UNTESTED, None)


def test_what_the_oracle_says_comes_before_what_was_predicted() -> None:
    record = ImageRecord((1, b""))
    record.predict(FAIL)
    record.run()
    assert record.known == FAIL
    assert record.judge(PASS) == []
    assert (record.stage, record.known) == (Stage.JUDGED, PASS)


def test_a_verdict_recalled_for_a_question_is_not_yet_known_of_a_state() -> None:
    record = ImageRecord((1, b""))
    record.recall(FAIL, Stage.RECALLED)
    assert (record.verdict, record.known) == (FAIL, None)
    record.recall(FAIL, Stage.CACHED)
    assert record.known == FAIL


def test_a_hang_of_an_earlier_run_was_confirmed_then() -> None:
    record = ImageRecord((1, b""))
    record.recall(HANG, Stage.CACHED)
    assert record.first == HANG

"""The decision tree says what runs said that were told the same, and watching goes on only while it pays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut.oracle.image_queries import Ask, Question
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search import decision_tree as tree_module
from powercut.search.decision_tree import DecisionTree
from powercut.search.watch_cost import STAKE, Economy

Told = tuple[bytes, ...]
Program = dict[Told, int]

PASS, FAIL = Verdict(Outcome.PASS), Verdict(Outcome.FAIL, 1)


def question(place: int) -> Question:
    return (int(Ask.DATA), b"%d" % place, 0, 1)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Deterministic checks of four places: after these answers, ask for that place; -1: pass, -2: fail."""
    moves: Program = {}
    waiting: list[Told] = [()]
    while waiting:
        told = waiting.pop()
        last = len(told) == 4
        moves[told] = draw(st.integers(-2, -1)) if last else draw(st.integers(-2, 3))
        if moves[told] >= 0:
            waiting += [(*told, b"0"), (*told, b"1")]
    return moves


def run(program: Program, image: Told) -> tuple[list[tuple[Question, bytes]], Verdict]:
    """What a check asks of an image, and its verdict."""
    asked: list[tuple[Question, bytes]] = []
    told: Told = ()
    while (move := program[told]) >= 0:
        asked.append((question(move), image[move]))
        told = (*told, image[move])
    return asked, PASS if move == -1 else FAIL


images = st.lists(st.tuples(*[st.sampled_from([b"0", b"1"])] * 4), max_size=20)


@given(programs(), images, images)
def test_the_tree_says_what_the_check_says(program: Program, learned: list[Told], asked: list[Told]) -> None:
    tree = DecisionTree()
    for image in learned:
        assert tree.learn(*run(program, image))
    for image in [*learned, *asked]:
        found = tree.find(lambda place, image=image: image[int(place[1])])
        assert found is None or found == run(program, image)[1]
        assert found is not None or image not in learned


def test_a_contradiction_is_noticed() -> None:
    tree = DecisionTree()
    assert tree.learn([(question(0), b"0"), (question(1), b"0")], PASS)
    assert tree.learn([(question(0), b"1")], FAIL)
    assert not tree.learn([(question(0), b"0"), (question(1), b"0")], FAIL)
    assert not tree.learn([(question(0), b"1"), (question(2), b"1")], PASS)  # it went on where it had ended


def test_questions_in_another_order_lead_to_the_same_verdict() -> None:
    tree = DecisionTree()
    tree.learn([(question(0), b"0"), (question(1), b"0")], PASS)
    tree.learn([(question(1), b"1"), (question(0), b"0")], FAIL)
    assert tree.find(lambda place: b"0") == PASS
    assert tree.find(lambda place: b"1" if place == question(1) else b"0") == FAIL
    assert tree.find(lambda place: b"1") is None


def test_a_tree_that_is_full_learns_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MOST_NODES", 3)
    tree = DecisionTree()
    for answer in (b"0", b"1", b"2", b"3"):
        tree.learn([(question(0), answer)], PASS)
    assert tree.full
    assert tree.find(lambda place: b"0") == PASS
    assert tree.find(lambda place: b"3") is None


def test_watching_ends_when_it_does_not_pay_and_goes_on_when_it_does() -> None:
    economy, forced = Economy(0, always=False), Economy(0, always=True)
    for books in (economy, forced):
        books.ran(0.01)
        for _ in range(round(2 * STAKE / 0.1)):
            books.watched(0.11, 0.0)
    assert (economy.watching_pays, economy.looking_up_pays, forced.watching_pays) == (False, True, True)
    for _ in range(round(STAKE / 0.01)):
        economy.skipped()
    assert economy.watching_pays


def test_looking_up_ends_when_nothing_is_ever_found() -> None:
    economy = Economy(0, always=False)
    economy.ran(0.01)
    economy.looked_up(STAKE + 1.0)
    assert not economy.looking_up_pays

"""Few questions find what is needed; what is found was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from powercut.minimise import fewest, first_failing, gallop, needed, needed_in_order

MANY = 512


@given(st.integers(0, 60), st.integers(1, 70))
def test_the_first_ones_that_are_enough_are_found(most: int, enough: int) -> None:
    assert fewest(most, lambda count: count >= enough) == (enough if enough <= most else 0)


@given(st.integers(1, 60).flatmap(lambda most: st.tuples(st.just(most), st.sets(st.integers(0, most - 1)))))
def test_exactly_what_is_needed_is_found(case: tuple[int, set[int]]) -> None:
    most, wanted = case
    found = needed(range(most), lambda some: wanted <= set(some), given=[-1])
    assert set(found) == wanted and len(found) == len(wanted)


@given(st.integers(1, 10), st.randoms(use_true_random=False))
def test_what_is_found_helps_even_if_more_can_spoil_it(most: int, rng: object) -> None:
    helps: dict[frozenset[int], bool] = {frozenset(range(most)): True}

    def ask(some: Sequence[int]) -> bool:
        return helps.setdefault(frozenset(some), rng.random() < 0.3)  # type: ignore[attr-defined]

    assert helps[frozenset(needed(range(most), ask))]


def test_three_of_many_are_found_in_few_questions() -> None:
    asked: set[frozenset[int]] = set()

    def ask(some: Sequence[int]) -> bool:
        asked.add(frozenset(some))
        return {7, 8, 400} <= set(some)

    assert sorted(needed(range(MANY), ask)) == [7, 8, 400]
    assert len(asked) <= 60, "one by one, it would be 512"


@given(st.integers(1, 2000), st.data())
def test_the_first_that_fails_is_found(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, count - 1))
    asked: list[int] = []

    def fails(positions: Sequence[int]) -> list[bool]:
        asked.extend(positions)
        return [position >= first for position in positions]

    assert first_failing(count, fails) == first
    assert len(asked) <= 2 * (count.bit_length() + 1)


@given(st.integers(0, 2000), st.data())
def test_galloping_finds_the_first_that_fails_or_that_none_does(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, count))
    asked: list[int] = []

    def fails(positions: Sequence[int]) -> list[bool]:
        assert all(0 <= position < count for position in positions)
        asked.extend(positions)
        return [position >= first for position in positions]

    assert gallop(count, fails) == first
    assert len(asked) <= 4 * ((first + 1).bit_length() + 3)


@given(st.integers(1, 60).flatmap(lambda most: st.tuples(st.just(most), st.sets(st.integers(0, most - 1), min_size=1))))
def test_what_is_needed_is_found_in_order(case: tuple[int, set[int]]) -> None:
    most, wanted = case
    found = needed_in_order(range(most), lambda sets: [wanted <= set(some) for some in sets], 10_000)
    assert sorted(found) == sorted(wanted)


@given(st.integers(1, 60).flatmap(lambda most: st.tuples(st.just(most), st.sets(st.integers(0, most - 1), min_size=1))))
def test_what_nobody_had_time_to_ask_about_is_taken_to_be_needed(case: tuple[int, set[int]]) -> None:
    most, wanted = case
    found = needed_in_order(range(most), lambda sets: [wanted <= set(some) for some in sets], 3)
    assert wanted <= set(found)
    assert len(found) == len(set(found))

"""Few questions find what is needed; what is found was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from powercut.heal.minimise import fewest, needed

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

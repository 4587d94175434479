"""Distinct values, and those among a few, are those that numpy finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from powercut.arrays import among, distinct


@given(st.lists(st.integers(-5, 5)), st.sampled_from([np.int8, np.int64, np.float64]))
def test_distinct_values_are_those_of_numpy(values: list[int], dtype: type) -> None:
    array = np.array(values, dtype)
    found = distinct(array)
    assert found.dtype == array.dtype
    assert found.tolist() == np.unique(array).tolist()
    assert distinct(array.reshape(1, -1)).tolist() == found.tolist()


@given(st.lists(st.integers(0, 255)), st.lists(st.integers(0, 40), min_size=1))
def test_what_is_among_a_few_numbers_is_what_numpy_says(values: list[int], some: list[int]) -> None:
    array = np.array(values, np.uint8)
    assert among(array, some).tolist() == [value in some for value in values]
    assert among(array.astype(np.uint64), some).tolist() == [value in some for value in values]

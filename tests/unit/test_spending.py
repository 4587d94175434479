"""What a search has left of its budget."""

from __future__ import annotations

import time

import pytest

from powercut.search.budget import Budget, Spending


@pytest.mark.parametrize(
    ("seconds", "before", "left"),
    [(60.0, 0.0, 60.0), (60.0, 20.0, 40.0), (60.0, 50.0, 10.0), (3.0, 50.0, 2.0), (1.0, 50.0, 1.0)],
    ids=["nothing came before", "recording counts", "however much", "a little is left", "or all there is"],
)
def test_what_came_before_the_search_counts_but_leaves_it_enough(seconds: float, before: float, left: float) -> None:
    spending = Spending(Budget(seconds, since=time.monotonic() - before), lambda: 0)
    assert spending.left() == pytest.approx(left, abs=0.5)
    assert not spending.over()

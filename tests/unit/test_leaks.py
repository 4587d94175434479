"""Which objects of a pool are reached: the walk over words is that of a plain closure over all pairs of objects."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from powercut.heal.leaks import Allocated, Rule

WORDS = 64
WORD = 8


@st.composite
def pools(draw: st.DrawFn) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Extents that do not overlap, the first one that of the root, and words that often hold addresses."""
    edges = draw(st.lists(st.integers(0, WORDS), min_size=2, max_size=20, unique=True).map(sorted))
    extents = [(low * WORD, (high - low) * WORD) for low, high in zip(edges[::2], edges[1::2], strict=False)]
    content = draw(st.lists(st.integers(0, WORDS * WORD + 9), min_size=WORDS, max_size=WORDS))
    return extents, np.array(content, dtype=np.int64)


def leads(content: np.ndarray, holder: tuple[int, int], target: tuple[int, int]) -> bool:
    start, size = holder
    words = content[start // WORD : (start + size) // WORD].tolist()
    return any(target[0] <= word < target[0] + target[1] for word in words)


@given(pools(), st.sets(st.integers(-1, 12)))
def test_what_is_not_reached_is_what_no_chain_of_paths_leads_to(
    pool: tuple[list[tuple[int, int]], np.ndarray], touched: set[int]
) -> None:
    (root, *objects), content = pool
    reached = {extent for number, extent in enumerate(objects) if number in touched}
    allocated = Allocated(root, objects, content)
    assert set(allocated.leaked(touched, Rule.TOUCHES)) == set(objects) - reached
    while more := {
        extent
        for extent in set(objects) - reached
        if any(leads(content, holder, extent) for holder in [root, *reached])
    }:
        reached |= more
    assert set(allocated.leaked(touched, Rule.PATHS)) == set(objects) - reached

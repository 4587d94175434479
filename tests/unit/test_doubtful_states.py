"""Which states are unknown when nobody waits any more, and which are only untested."""

from __future__ import annotations

from powercut.search.doubtful_states import MOST_KEPT, DoubtfulStates
from tests.unit.plain_images import state


def test_a_slow_check_is_only_cut_off_and_one_that_never_took_so_long_may_hang() -> None:
    slow, hanging = DoubtfulStates(), DoubtfulStates()
    for seen, longest in ((slow, 3.0), (hanging, 0.5)):
        seen.answered(longest)
        seen.answered(0.1)
        seen.gave_up([(0, state(number), 4.0) for number in range(MOST_KEPT + 2)])
    assert (slow.overdue, slow.unanswered) == (0, [])
    assert (hanging.overdue, len(hanging.unanswered)) == (MOST_KEPT + 2, MOST_KEPT)


def test_a_state_is_told_once() -> None:
    seen = DoubtfulStates()
    seen.contradiction(0, state(0), "pass once, fail another time")
    seen.contradiction(0, state(0), "fail once, pass another time")
    assert [one.said for one in seen.contradicted] == ["pass once, fail another time"]

"""Whether a finding is still there in a run with its fix: by its id, or because the same line is lost again."""

from __future__ import annotations

from powercut.findings.finding import Finding, FindingKind, Location, SavedState
from powercut.findings.shown_again import shown_again

STATE = SavedState("xfs", 4096, 2, "issued", (0,))


def made(name: str, kind: FindingKind, lost: int, survived: int = 9) -> Finding:
    places = [Location("f.py", lost, "f", "lost"), Location("f.py", survived, "f", "survived")]
    return Finding(kind, "m", places, None, [], [], STATE, outcome="fail", code=1, output="", id=name)


FIRST = made("a", FindingKind.ORDERING, 3)


def test_the_same_id_is_the_same_finding() -> None:
    other = made("a", FindingKind.ORDERING, 3)
    assert shown_again(FIRST, (), [made("b", FindingKind.UNPERSISTED, 3), other]) is other


def test_so_is_the_loss_of_the_same_line_beside_another_survivor() -> None:
    for kind in (FindingKind.ORDERING, FindingKind.UNPERSISTED):
        other = made("b", kind, 3, survived=10)
        assert shown_again(FIRST, (), [other]) is other


def test_not_if_it_is_lost_in_another_way_or_was_found_before_or_something_else_is_lost() -> None:
    assert shown_again(FIRST, (), [made("b", FindingKind.DURABILITY, 3)]) is None
    assert shown_again(FIRST, ("b",), [made("b", FindingKind.ORDERING, 3)]) is None
    assert shown_again(FIRST, (), [made("b", FindingKind.ORDERING, 9, survived=3)]) is None

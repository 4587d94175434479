"""A plain crash bug beside a race that does no harm: the crash bug is named as such, and the race is no bug.

Some of the pairs; bench/race_beside.py runs all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from race_beside import BUGS, RACES, Pair, pairs

from tests.needs import needs_memory_tool

SOME = [Pair("half", "locked"), Pair("part", "rebuilt"), Pair("promise", "hint"), Pair("log", "repaired")]
SOME += [Pair("pair", "locked")]


def test_every_bug_has_its_line() -> None:
    assert len(pairs()) == len(BUGS) * len(RACES) == 20
    assert all(pair.lost for pair in pairs())


@needs_memory_tool
@pytest.mark.parametrize("pair", SOME, ids=lambda pair: f"{pair.bug}-{pair.race}")
def test_the_crash_bug_is_named_and_the_race_is_no_bug(pair: Pair, tmp_path: Path) -> None:
    assert list(pair.complaints(pair.look(tmp_path, "15s"))) == []

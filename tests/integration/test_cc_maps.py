"""The maps of corpus/assertions through `powercut cc`: their instructions give the findings that telling gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus" / "assertions"))

from assertion_cases import MAPS, MapBug, build_tracked_maps, map_bugs, marked_lines

from powercut import check_program
from powercut.assertions.check import Checked

MARKED = marked_lines()
# A flush of what is in no pool is no operation on persistent memory, so nobody notices it.
STRAY = {"atomic-pointer-flushed": ("wrong-use/outside-pool", ("hashmap_atomic.c", 99))}
# An instruction names a line, not the bytes of it that are meant.
UNSEEN = {"lucky-writeback"}
# The compiler makes one instruction of equal stores in two branches, on either's line.
MERGED = {"rbtree-parent-unlogged"}

pytestmark = pytest.mark.xdist_group("cc-maps")  # one build for all


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tracked_maps(tmp_path_factory.mktemp("maps"))


def check(*words: object) -> Checked:
    checked = check_program([str(word) for word in words], quiet=True, timeout=60)
    assert checked.ending == ""
    return checked


@pytest.mark.parametrize("name", MAPS)
def test_nothing_is_found_on_a_correct_map(program: Path, name: str) -> None:
    checked = check(program, name)
    assert checked.findings == []
    assert checked.operations > 2000


@pytest.mark.parametrize("bug", map_bugs(), ids=lambda bug: bug.name)
def test_seeded_mistake_is_found_at_its_lines(program: Path, bug: MapBug) -> None:
    checked = check(program, bug.maps[0], "--bug", bug.name, "--operations", bug.operations)
    kinds = {"/".join(filter(None, (finding.pattern, finding.why))) for finding in checked.findings}
    lines = {(Path(place.file or "").name, place.line) for finding in checked.findings for place in finding.locations}
    kind, line = STRAY.get(bug.name, ("", None))
    assert kinds == bug.kinds - {kind} - UNSEEN
    assert bug.name in MERGED or MARKED[bug.name] - {line} <= lines

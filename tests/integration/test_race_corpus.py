"""Every case of corpus/race: without a power cut both twins are right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import marked
from race_cases import TWINS, RaceCase, race_cases

every_case = pytest.mark.parametrize("case", race_cases(), ids=lambda case: case.name)
NATIVE_RUNS = 5  # of threads that meet each other as they like


@pytest.fixture(autouse=True)
def libraries(request: pytest.FixtureRequest) -> None:
    """Skip what needs a library that is not there."""
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    if case is not None and case.libraries and not Path("/usr/include/libpmemobj.h").exists():
        pytest.skip("libpmemobj-dev is not installed")


@pytest.mark.parametrize("twin", TWINS)
@every_case
def test_without_a_power_cut_both_twins_are_right(case: RaceCase, twin: str, tmp_path: Path) -> None:
    built, acked = case.build(twin, tmp_path), tmp_path / "acked"
    acked.touch()
    assert built.judge(acked) == 0
    for _ in range(NATIVE_RUNS):
        if not case.create:
            for file in built.data.iterdir():
                file.unlink()
        built.run(acked)
        assert built.judge(acked) == 0


@every_case
def test_lines_that_a_finding_must_name_are_marked(case: RaceCase) -> None:
    sources = [*case.folder.glob("*.[ch]"), *case.folder.glob("*.cpp")]
    wanted = {"LOCK"} if "sync" in case.kinds else set()
    if case.kinds - {"sync"}:
        wanted |= {"WRITE", "READ", "EFFECT"}
    for marker in wanted:
        assert any(marked(source, marker) for source in sources), marker

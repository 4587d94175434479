"""Programs with assertions: what is found in them is what their own lines say, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import powercut
from tests.assertion_kit import PROGRAMS, build, found, marks, scenarios

FIGURES = scenarios("figures")
OTHERS = [(program, name) for program in ("misses", "checkers", "wrong_use") for name in scenarios(program)]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    return {name: build(PROGRAMS / f"{name}.c", folder) for name in ("figures", "misses", "checkers", "wrong_use")}


@pytest.mark.parametrize("model", ["x86", "hops"])
@pytest.mark.parametrize("scenario", FIGURES)
def test_figures_of_the_paper_have_the_published_outcome(programs: dict[str, Path], scenario: str, model: str) -> None:
    checked = powercut.check_program([str(programs["figures"]), scenario], model=model)
    expected = marks("figures", scenario, model)
    if model == "hops":  # there are no flushes, and a write is persistent after the fence alone
        expected = {mark for mark in expected if mark[3] != "not-flushed"}
    assert found(checked) == expected


@pytest.mark.parametrize(("program", "scenario"), OTHERS, ids=[f"{one}-{two}" for one, two in OTHERS])
def test_scenario_gives_what_its_lines_say(programs: dict[str, Path], program: str, scenario: str) -> None:
    checked = powercut.check_program([str(programs[program]), scenario])
    assert found(checked) == marks(program, scenario)
    assert checked.ending == ""


def test_every_scenario_that_must_find_something_says_so() -> None:
    """Otherwise the tests above pass by expecting nothing."""
    assert sum(bool(marks(program, scenario)) for program, scenario in OTHERS) > 25
    assert sum(bool(marks("figures", scenario)) for scenario in FIGURES) >= 8


def test_finding_names_write_flush_and_checker(programs: dict[str, Path]) -> None:
    checked = powercut.check_program([str(programs["misses"]), "fence_only_after_the_check"])
    (finding,) = checked.findings
    lines = {location.role: (location.line, location.function) for location in finding.locations}
    (checker_line, *_), function = (
        next(iter(marks("misses", "fence_only_after_the_check"))),
        finding.locations[0].function,
    )
    assert lines == {
        "at": (checker_line, function),
        "written": (checker_line - 2, function),
        "flushed": (checker_line - 1, function),
    }
    assert {Path(location.file or "").name for location in finding.locations} == {"misses.c"}


def test_same_finding_is_counted_and_not_repeated(programs: dict[str, Path]) -> None:
    checked = powercut.check_program([str(programs["wrong_use"]), "odd_sizes"])
    assert all(finding.count == 1 for finding in checked.findings)
    assert len({finding.id for finding in checked.findings}) == len(checked.findings)


def test_saved_trace_says_the_same_under_its_model_and_other_things_under_others(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    checked = powercut.check_program([str(programs["figures"]), "figure_4"], trace=trace)
    again = powercut.check_trace(trace)
    assert [(f.id, f.count) for f in again.findings] == [(f.id, f.count) for f in checked.findings]
    assert found(powercut.check_trace(trace, "hops")) == {
        mark for mark in marks("figures", "figure_4", "hops") if mark[3] != "not-flushed"
    }
    assert "cache-survives" in {finding.why for finding in powercut.check_trace(trace, "eadr").findings}

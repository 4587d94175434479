"""Every case of corpus/race: the buggy twin gives its finding with the right lines, the fixed twin is silent.

And without a power cut both twins are right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import POWERCUT, marked
from race_cases import TWINS, RaceBuilt, RaceCase, race_cases

from powercut.native_programs import why_no_memory_tool
from tests.needs import HAS_PMDK

MARKERS = {"stored": "WRITE", "read": "READ", "effect": "EFFECT", "taken": "LOCK"}
NATIVE_RUNS = 5  # of threads that meet each other as they like
FIND = ("--budget", "60s", "--max-findings", "1")  # found in the first seconds, on a busy machine, too
LOOK = ("--budget", "60s", "--max-executions", "6")  # enough time to judge all that these show

every_case = pytest.mark.parametrize("case", race_cases(), ids=lambda case: case.name)
needs_tracer = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")


@pytest.fixture(autouse=True)
def libraries(request: pytest.FixtureRequest) -> None:
    """Skip what needs a library that is not there."""
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    if case is not None and case.libraries and not HAS_PMDK:
        pytest.skip("libpmemobj-dev is not installed")


@dataclass(frozen=True)
class Raced:
    """What one `powercut race` said; bugs are findings that the recovery or the check confirmed."""

    code: int
    output: str
    findings: list[dict[str, Any]]

    @property
    def bugs(self) -> list[dict[str, Any]]:
        return [finding for finding in self.findings if finding["severity"] == "error"]


def race(built: RaceBuilt, *options: str) -> Raced:
    folder = built.data.parent
    judges = ["--recovery", built.recovery, "--check", built.check]
    command = [str(POWERCUT), "race", "--dir", str(built.data), *judges, "--json", "report.json", *options]
    done = subprocess.run([*command, "--", *built.workload], cwd=folder, capture_output=True, text=True, timeout=120)
    report = json.loads((folder / "report.json").read_text()) if (folder / "report.json").exists() else {}
    return Raced(done.returncode, done.stdout + done.stderr, report.get("findings", []))


def allow(case: RaceCase, folder: Path) -> None:
    """Write the allow-list of a case where powercut looks for it."""
    entries = "".join(f'"{function}" = "{case.title}"\n' for function in case.allow)
    (folder / "powercut.toml").write_text(f"[race.allow]\n{entries}")


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


@needs_tracer
@every_case
def test_buggy_twin_gives_its_finding(case: RaceCase, tmp_path: Path) -> None:
    run = race(case.build("buggy", tmp_path), *FIND)
    assert run.code == 1, run.output
    assert {finding["kind"] for finding in run.bugs} == case.kinds, run.output
    sources = {path.name: path for path in case.folder.iterdir()}
    for finding in run.bugs:
        for place in finding["locations"]:
            source = sources.get(Path(place["file"]).name)
            assert source is not None, f"{place['file']} is no source of the program"
            assert place["line"] in marked(source, MARKERS[place["role"]]), f"wrong {place['role']} line: {finding}"


@needs_tracer
@every_case
def test_fixed_twin_is_silent(case: RaceCase, tmp_path: Path) -> None:
    built = case.build("fixed", tmp_path)
    allow(case, tmp_path)
    run = race(built, *LOOK)
    assert (run.code, run.findings) == (0, []), run.output


@needs_tracer
def test_what_protects_itself_is_told_apart_by_the_allow_list_alone(tmp_path: Path) -> None:
    """No recovery overwrites a digest with a checksum, and the check accepts it: without a list it is unconfirmed."""
    (case,) = [case for case in race_cases() if case.name == "checksummed"]
    run = race(case.build("fixed", tmp_path), "--budget", "6s")
    assert (run.code, run.bugs) == (0, []), run.output
    assert {finding["kind"] for finding in run.findings} == {"inter-thread"}, run.output

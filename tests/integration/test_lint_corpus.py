"""Every case of corpus/lint: the buggy twin shows its patterns at the marked lines, the fixed twin none of them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import CORPUS, POWERCUT, build, marked

from powercut.native_programs import why_no_memory_tool

CASES = sorted(path.parent for path in (CORPUS / "lint").glob("*/case.toml"))

pytestmark = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def record(case: Path, twin: str, folder: Path) -> Path:
    (folder / "data").mkdir()
    workload = [*build(case / f"{twin}.c", folder), str(folder / "data")]
    trace = folder / "trace"
    command = [POWERCUT, "record", "--tracer", "memory", "-o", trace, "--dir", folder / "data", "--", *workload]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    return trace


def lint(trace: Path, *options: str) -> tuple[int, list[dict]]:
    command = [POWERCUT, "lint", "--json", "-", *options, trace]
    done = subprocess.run(command, cwd=trace.parent, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout)["misuses"]


def name_of(misuse: dict) -> str:
    return "/".join(part for part in (misuse["pattern"], misuse["why"]) if part)


@every_case
def test_buggy_twin_shows_its_pattern(case: Path, tmp_path: Path) -> None:
    wanted = tomllib.loads((case / "case.toml").read_text())
    code, misuses = lint(record(case, "buggy", tmp_path))
    own = [misuse for misuse in misuses if name_of(misuse) in wanted["patterns"]]
    assert {name_of(misuse) for misuse in own} == set(wanted["patterns"])
    for misuse in own:
        place = misuse["locations"][0]
        assert Path(place["file"]).name == "buggy.c"
        assert place["line"] in marked(case / "buggy.c", "HERE")
        assert len(place["stack"]) > 2
    bugs = {name_of(misuse) for misuse in misuses if misuse["severity"] == "bug"}
    assert bugs <= {*wanted["patterns"], *wanted["also"]}
    assert code == bool(bugs)


@every_case
def test_fixed_twin_is_silent(case: Path, tmp_path: Path) -> None:
    wanted = tomllib.loads((case / "case.toml").read_text())
    code, misuses = lint(record(case, "fixed", tmp_path))
    assert [misuse for misuse in misuses if misuse["severity"] == "bug"] == []
    assert not {name_of(misuse) for misuse in misuses} & {*wanted["patterns"], *wanted["also"]}
    assert code == 0


def test_ids_are_the_same_in_every_run(tmp_path: Path) -> None:
    """Address randomisation is on: the program, its libraries and the pool are somewhere else each time."""
    found = []
    for run in range(2):
        folder = tmp_path / str(run)
        folder.mkdir()
        _, misuses = lint(record(CORPUS / "lint" / "logged-twice", "buggy", folder))
        found.append([(misuse["id"], misuse["count"]) for misuse in misuses])
    assert found[0] == found[1] != []


def test_where_caches_survive_flushes_are_for_nothing(tmp_path: Path) -> None:
    trace = record(CORPUS / "lint" / "redundant-flush", "fixed", tmp_path)
    code, misuses = lint(trace, "--memory", "eadr")
    assert ({name_of(misuse) for misuse in misuses}, code) == ({"redundant-flush/eadr"}, 0)
    assert lint(trace, "--memory", "eadr", "--no-warnings") == (0, [])

"""Every case of corpus/files: the buggy twin gives its one finding with the right lines, the fixed twin is silent."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import POWERCUT, Case, Run, build, cases, check_command, marked, powercut_test

from powercut.testing.try_fix import try_fix

MARKERS = {"lost": "LOST", "survived": "SURVIVED", "acknowledged": "ACKED"}

every_case = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def explore(case: Case, twin: str, fs: tuple[str, ...], folder: Path) -> Run:
    data = case.seed(folder / "data")
    workload = [*build(case.source(twin), folder), str(data)]
    return powercut_test(workload, check_command(case.check), data, fs=fs)


@every_case
def test_buggy_twin_gives_its_one_finding_and_it_replays(case: Case, tmp_path: Path) -> None:
    run = explore(case, "buggy", case.fs, tmp_path)
    assert run.code == 1, run.output
    source = case.source("buggy")
    for finding in run.findings:
        assert finding.kind == case.kind, run.output
        for role in ("lost", case.other_role):
            named = finding.at(role, source.name)
            assert named, f"no {role} line in {finding}"
            assert named <= marked(source, MARKERS[role]), f"wrong {role} line in {finding}"
    assert {model for finding in run.findings for model in finding.models} == set(case.fs), run.output
    for finding in run.findings:
        command = shlex.split(finding.replay)
        assert command[0] == "powercut"
        done = subprocess.run([POWERCUT, *command[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, done.stdout + done.stderr


TRIED = ("ack-before-sync", "close-is-not-sync", "marker-file", "rename-without-dir-sync", "wal-reset-too-early")


@pytest.mark.parametrize("case", [case for case in cases() if case.name in TRIED], ids=lambda case: case.name)
def test_a_fix_that_says_verified_mends(
    case: Case, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Put in by the tracer, it makes its finding go; bench/fixes.py asks that of all programs of all corpora."""
    run = explore(case, "buggy", case.fs[:1], tmp_path)
    tried = 0
    for finding in run.report["findings"]:
        if finding["fix"]["verified"] and finding["fix"]["by"] == "model":
            trial = try_fix(tmp_path / ".powercut", finding["id"])
            assert trial.gone, f"{finding['fix']['text']}: {trial.tried}"
            tried += 1
    record_property("verified fixes tried", tried)
    assert tried or case.kind in ("atomicity", "recovery"), run.output


@pytest.mark.parametrize("case", [case for case in cases() if case.safe], ids=lambda case: case.name)
def test_buggy_twin_is_silent_where_the_file_system_forgives(case: Case, tmp_path: Path) -> None:
    run = explore(case, "buggy", case.safe, tmp_path)
    assert (run.code, run.findings) == (0, ()), run.output


@every_case
def test_fixed_twin_is_silent(case: Case, tmp_path: Path) -> None:
    assert {"ext4-ordered", "xfs", "btrfs"} <= set(case.silent)
    run = explore(case, "fixed", case.silent, tmp_path)
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.parametrize("twin", ["buggy", "fixed"])
@every_case
def test_without_a_power_cut_both_twins_are_right(case: Case, twin: str, tmp_path: Path) -> None:
    data = case.seed(tmp_path / "data")
    acked = tmp_path / "acked"
    acked.touch()
    check = shlex.split(check_command(case.check))
    environment = {**os.environ, "POWERCUT_DIR": str(data), "POWERCUT_ACKED": str(acked)}
    subprocess.run(check, cwd=data, env=environment, check=True)
    with acked.open("w") as said:
        subprocess.run([*build(case.source(twin), tmp_path), str(data)], stdout=said, check=True)
    subprocess.run(check, cwd=data, env=environment, check=True)

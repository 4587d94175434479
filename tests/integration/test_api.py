"""`import powercut`: crash-testing Python functions and commands from a test."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import powercut
from powercut.errors import EnvironmentFailure


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "config.json").write_text('{"v": 1}')
    return folder


def save_carelessly(folder: Path) -> None:
    (folder / "config.tmp").write_text('{"v": 2}')
    os.replace(folder / "config.tmp", folder / "config.json")
    print("saved")


def save_carefully(folder: Path) -> None:
    with open(folder / "config.tmp", "w") as file:
        file.write('{"v": 2}')
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder / "config.tmp", folder / "config.json")
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    print("saved")


def check(folder: Path, acked: bytes) -> None:
    version = json.loads((folder / "config.json").read_text())["v"]
    assert version == 2 or (version == 1 and b"saved" not in acked)


def test_a_function_is_recorded_and_judged_by_a_function(data: Path) -> None:
    run = powercut.explore(lambda: save_carelessly(data), check, dir=data, fs="xfs")
    assert {finding.kind.value for finding in run.findings} == {"unpersisted", "durability"}
    lines = {location.line for finding in run.findings for location in finding.locations}
    first = save_carelessly.__code__.co_firstlineno
    assert lines == {first + 1, first + 2, first + 3}
    assert all(finding.fix is not None and finding.fix.verified for finding in run.findings)


@pytest.mark.parametrize("fs", ["ext4-ordered", "xfs", "btrfs", "posix"])
def test_a_careful_function_is_silent(data: Path, fs: str) -> None:
    run = powercut.explore(lambda: save_carefully(data), check, dir=data, fs=fs)
    assert run.findings == []
    assert run.states["exhausted"]


def test_the_users_folder_is_not_touched(data: Path) -> None:
    before = data.stat().st_mtime_ns
    powercut.explore(lambda: save_carelessly(data), check, dir=data, max_states=5)
    assert sorted(os.listdir(data)) == ["config.json"]
    assert (data / "config.json").read_text() == '{"v": 1}'
    assert data.stat().st_mtime_ns == before


def test_a_command_without_a_check_is_judged_by_the_built_in_oracle(data: Path) -> None:
    script = f"printf new > {data}/config.tmp && mv {data}/config.tmp {data}/config.json"
    run = powercut.explore(["sh", "-c", script], dir=data, fs="btrfs")
    assert run.findings and all("config.json" in finding.output for finding in run.findings)


def test_a_check_that_hangs_on_crash_states_is_a_recovery_finding(data: Path) -> None:
    def hanging(folder: Path) -> None:
        if not (folder / "config.json").read_text().endswith("}"):
            time.sleep(60)

    run = powercut.explore(lambda: save_carelessly(data), hanging, dir=data, fs="xfs", timeout=0.5, max_states=30)
    assert {finding.kind.value for finding in run.findings} == {"recovery"}
    assert {finding.outcome for finding in run.findings} == {"hang"}


def test_a_check_that_kills_its_process_is_a_recovery_finding(data: Path) -> None:
    def dying(folder: Path) -> None:
        if not (folder / "config.json").read_text().endswith("}"):
            os.kill(os.getpid(), 11)

    run = powercut.explore(lambda: save_carelessly(data), dying, dir=data, fs="xfs", max_states=30)
    assert {(finding.kind.value, finding.outcome) for finding in run.findings} == {("recovery", "crash")}


def test_a_check_that_fails_without_a_crash_is_refused(data: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="check-fails-on-final-state"):
        powercut.explore(lambda: save_carefully(data), lambda folder: False, dir=data)


def test_a_function_that_raises_is_refused_with_its_last_words(data: Path) -> None:
    def broken() -> None:
        raise RuntimeError("out of cheese")

    with pytest.raises(EnvironmentFailure, match="out of cheese"):
        powercut.explore(broken, check, dir=data)


def test_the_same_seed_tests_the_same_states(data: Path) -> None:
    seen: list[list[str]] = []
    for _ in range(2):
        log = data.parent / "log"
        log.write_text("")

        def record(folder: Path, log: Path = log) -> None:
            with open(log, "a") as file:
                file.write((folder / "config.json").read_text() + "\n")

        powercut.explore(lambda: save_carelessly(data), record, dir=data, fs="posix", workers=1, seed=7, max_states=20)
        seen.append(log.read_text().splitlines())
    assert seen[0] == seen[1]
    assert len(seen[0]) > 5

"""The built-in oracle: whole files are old or new, and what was synced stays."""

from __future__ import annotations

import pytest

from powercut.findings.finding import Finding
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.builtin import BuiltinOracle
from powercut.search.budget import Budget
from powercut.search.exploration import Exploration
from powercut.search.inline_executor import InlineExecutor
from powercut.states.timeline import Timeline
from tests.models.random_runs import to_trace

START = [("create", "a"), ("write", "a", 0, b"old", ""), ("sync",), ("fsync", "a")]
SAVE = [("create", "t"), ("write", "t", 0, b"newer", "")]


def judge(ops: list[tuple], fs: str) -> list[Finding]:
    timeline = Timeline(to_trace(ops), FILE_SYSTEMS[fs])
    oracle = BuiltinOracle(timeline)
    executor = InlineExecutor([timeline], oracle)
    exploration = Exploration([timeline], executor, oracle.output_key, Budget(), 0, lambda event: None)
    exploration.run()
    return exploration.findings


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_a_careful_replacement_is_silent(fs: str) -> None:
    ops = [*START, *SAVE, ("fsync", "t"), ("rename", "t", "a"), ("fsync", "")]
    assert judge(ops, fs) == []


ROWS = [("xfs", True), ("btrfs", True), ("posix", True), ("ext4-ordered", True), ("ext4-nodelalloc", False)]


@pytest.mark.parametrize(("fs", "found"), ROWS)
def test_a_replacement_without_sync_can_be_empty(fs: str, found: bool) -> None:
    findings = judge([*START, *SAVE, ("rename", "t", "a"), ("fsync", "")], fs)
    assert bool(findings) is found
    if found:
        assert findings[0].output.startswith("a ")


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_truncating_and_writing_again_is_found(fs: str) -> None:
    findings = judge([*START, ("truncate", "a", 0), ("write", "a", 0, b"newer", ""), ("fsync", "a")], fs)
    assert findings
    assert all(finding.output.startswith(("a is empty", "a has 5 bytes")) for finding in findings)


@pytest.mark.parametrize(("fs", "found"), [("posix", True), ("ext4-ordered", False), ("xfs", False), ("btrfs", False)])
def test_a_synced_file_whose_name_is_lost_is_found(fs: str, found: bool) -> None:
    findings = judge([("create", "a"), ("write", "a", 0, b"x", ""), ("fsync", "a"), ("create", "b")], fs)
    assert bool(findings) is found
    if found:
        assert findings[0].output == "a is missing, although it was synced"


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_a_file_that_only_grows_is_left_to_a_check(fs: str) -> None:
    ops = [*START, ("write", "a", 3, b" and more", ""), ("write", "a", 12, b" yet", ""), ("fsync", "a")]
    assert judge(ops, fs) == []


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_removing_a_file_to_make_room_for_its_successor_is_found(fs: str) -> None:
    findings = judge([*START, *SAVE, ("fsync", "t"), ("fsync", ""), ("unlink", "a"), ("rename", "t", "a")], fs)
    assert [finding.output for finding in findings] == ["a is missing, although it was synced"]


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_a_journal_that_comes_and_goes_is_silent(fs: str) -> None:
    journal = [("create", "j"), ("write", "j", 0, b"undo", ""), ("sync",), ("unlink", "j"), ("fsync", "")]
    assert judge([*journal, *journal, *journal], fs) == []


PUT = [*SAVE, ("fsync", "t"), ("rename", "t", "log"), ("fsync", "")]


def grow(name: str, at: int, count: int, *, sync: bool = True) -> list[tuple]:
    """Appending step by step."""
    steps = [("write", name, at + 3 * n, b"%03d" % n, "") for n in range(count)]
    return [op for step in steps for op in ((step, ("fsync", name)) if sync else (step,))]


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_a_log_that_was_renamed_into_place_is_no_file_that_is_replaced(fs: str, sync: bool) -> None:
    assert judge([*START, *PUT, *grow("log", 5, 6, sync=sync), ("sync",)], fs) == []


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_a_log_that_is_reset_and_grows_again_is_none_either(fs: str) -> None:
    reset = [("truncate", "a", 0), *grow("a", 0, 3)]
    assert judge([*START, *reset, *reset, ("fsync", "a")], fs) == []


@pytest.mark.parametrize("fs", ["xfs", "posix"])
def test_what_a_log_held_when_it_was_put_in_place_must_be_there(fs: str) -> None:
    careless = [op for op in PUT if op != ("fsync", "t")]
    findings = judge([*START, *careless, *grow("log", 5, 3, sync=False)], fs)
    assert findings and findings[0].output.startswith("log ")


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_a_database_that_was_renamed_into_place_and_is_changed_there_is_left_to_a_check(fs: str) -> None:
    assert (
        judge([*START, *PUT, ("write", "log", 2, b"X", ""), ("fsync", "log"), ("write", "log", 1, b"Y", "")], fs) == []
    )


def test_it_says_what_it_took_files_for() -> None:
    ops = [*START, *PUT, *grow("log", 5, 3), *SAVE, ("fsync", "t"), ("rename", "t", "a"), ("fsync", "")]
    oracle = BuiltinOracle(Timeline(to_trace(ops), FILE_SYSTEMS["ext4-ordered"]))
    assert oracle.appended_names() == {b"log"} and oracle.whole_names() == {b"a"}

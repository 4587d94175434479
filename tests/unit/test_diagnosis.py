"""From failing states to findings: kind, minimal loss, fix, one finding for each root cause."""

from __future__ import annotations

import pytest

from powercut.errors import EnvironmentFailure
from powercut.findings import explaining_time
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.budget import Budget
from powercut.search.exploration import Exploration
from powercut.search.inline_executor import InlineExecutor
from powercut.states.state import State
from powercut.states.timeline import Timeline
from tests.models.random_runs import to_trace
from tests.unit.explore_ops import explore

REPLACE = [("create", "b"), ("write", "b", 0, b"new", ""), ("rename", "b", "a")]


def whole(files: dict[str, bytes], acked: bytes) -> bool:
    return files.get("a") in (None, b"old", b"new")


def kinds(findings: list) -> list[str]:
    return [finding.kind.value for finding in findings]


def test_a_rename_of_unsynced_data_is_unpersisted_and_the_fix_is_verified() -> None:
    findings, counts = explore([*REPLACE], whole, "ext4-ordered")
    assert kinds(findings) == ["unpersisted"]
    finding = findings[0]
    assert finding.fix is not None and finding.fix.verified
    assert "fdatasync(b)" in finding.fix.text
    assert len(finding.lost) == 1
    assert counts.failed


def test_replacing_an_existing_file_is_safe_only_where_the_size_waits_for_its_data() -> None:
    ops = [("create", "a"), ("write", "a", 0, b"old", ""), ("sync",), ("print", b"go\n"), *REPLACE]

    def check(files: dict[str, bytes], acked: bytes) -> bool:
        return not acked or files.get("a") in (b"old", b"new")

    assert kinds(explore(ops, check, "xfs")[0]) == ["unpersisted"]
    assert kinds(explore(ops, check, "ext4-ordered")[0]) == ["unpersisted"]
    assert kinds(explore(ops, check, "ext4-nodelalloc")[0]) == []


def test_a_lost_acknowledgement_is_durability() -> None:
    ops = [("create", "a"), ("write", "a", 0, b"new", ""), ("print", b"done\n"), ("fsync", "a")]
    findings, _ = explore(ops, lambda files, acked: not acked or files.get("a") == b"new", "ext4-ordered", "btrfs")
    assert kinds(findings) == ["durability"]
    assert findings[0].fix is not None and findings[0].fix.verified
    assert findings[0].models == ["ext4-ordered", "btrfs"]
    assert findings[0].locations[-1].role == "acknowledged"
    assert "'done'" in findings[0].locations[-1].what


def test_a_plain_kill_that_fails_is_atomicity_and_the_other_order_is_proposed() -> None:
    ops = [
        ("create", "n"),
        ("create", "d"),
        ("sync",),
        ("write", "n", 0, b"1", ""),
        ("write", "d", 0, b"x", ""),
        ("sync",),
    ]
    findings, _ = explore(ops, lambda files, acked: files.get("n") != b"1" or files.get("d") == b"x", "ext4-journal")
    assert kinds(findings) == ["atomicity"]
    assert findings[0].fix is not None and findings[0].fix.verified and "first" in findings[0].fix.text


def test_a_cut_before_a_call_that_is_made_several_times_ends_with_the_last_of_them() -> None:
    """A copy in pieces: what was not yet copied belongs to one cause, wherever in it the power fails."""
    pieces = [("write", "d", position, b"x", "") for position in range(4)]
    ops = [("create", "n"), ("create", "d"), ("sync",), ("write", "n", 0, b"1", ""), *pieces, ("sync",)]

    def check(files: dict[str, bytes], acked: bytes) -> bool:
        return files.get("n") != b"1" or files.get("d") == b"xxxx"

    for fs in ("ext4-journal", "btrfs"):
        findings, counts = explore(ops, check, fs, alike=range(4, 8))
        assert (kinds(findings), counts.unexplained) == (["atomicity"], 0), fs


def test_data_synced_too_late_is_ordering() -> None:
    ops = [
        *(("create", "n"), ("create", "d"), ("write", "n", 0, b"0", ""), ("write", "d", 0, b"0", ""), ("sync",)),
        *(("write", "d", 0, b"x", ""), ("write", "n", 0, b"1", ""), ("fsync", "n"), ("fsync", "d")),
    ]
    findings, _ = explore(ops, lambda files, acked: files.get("n") != b"1" or files.get("d") == b"x", "ext4-ordered")
    assert kinds(findings) == ["ordering"]
    assert findings[0].fix is not None and findings[0].fix.verified


def test_a_torn_write_is_atomicity() -> None:
    ops = [
        *(("create", "a"), ("write", "a", 0, b"A" * 8192, ""), ("sync",)),
        *(("write", "a", 0, b"B" * 8192, ""), ("sync",)),
    ]
    findings, _ = explore(ops, lambda files, acked: len(set(files.get("a", b"")) - {0}) <= 1, "xfs")
    assert kinds(findings) == ["atomicity"]


def test_two_causes_give_two_findings_each_with_its_own_models() -> None:
    ops = [("create", "a"), ("write", "a", 0, b"old", ""), ("sync",), ("print", b"go\n"), *REPLACE, ("print", b"a\n")]

    def check(files: dict[str, bytes], acked: bytes) -> bool:
        if b"go" not in acked:
            return True
        return files.get("a") == b"new" if b"a" in acked else files.get("a") in (b"old", b"new")

    findings, _ = explore(ops, check, "xfs", "ext4-nodelalloc")
    found = {finding.kind.value: finding.models for finding in findings}
    assert found == {"unpersisted": ["xfs"], "durability": ["xfs", "ext4-nodelalloc"]}


def test_a_budget_of_states_stops_the_search_and_is_shared_by_models() -> None:
    ops = [("create", n) for n in "abc"] + [("write", n, 0, bytes([i]), "") for i in range(1, 5) for n in "abc"]
    _, counts = explore(ops, lambda files, acked: True, "ext4-ordered", "posix", states=10)
    assert counts.tested == 10
    assert not counts.exhausted


def test_a_small_run_is_covered_wholly() -> None:
    _, counts = explore(REPLACE, lambda files, acked: True, "ext4-ordered")
    assert counts.exhausted
    assert counts.total == counts.tested + counts.equal + counts.equivalent


def test_without_any_time_the_first_failing_state_is_a_finding_and_the_others_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explaining_time, "LEAST", 0.0)
    monkeypatch.setattr(explaining_time, "SHARE", 0.0)
    ops = [("create", "a"), ("write", "a", 0, b"A" * 8192, ""), ("print", b"done\n"), ("fsync", "a")]
    (finding,), counts = explore(
        ops, lambda files, acked: not acked or files.get("a") == b"A" * 8192, "xfs", seconds=60.0
    )
    assert finding.cut_short and finding.locations
    assert counts.failed > 1 and counts.unexplained >= counts.failed - 1
    assert finding.occurrences + counts.unexplained > counts.failed  # those whose image had been judged count, too
    assert not finding.fix or not finding.fix.verified


def test_an_image_that_cannot_be_built_ends_the_search_without_a_traceback() -> None:
    class Unbuildable:
        def judge(self, timeline: Timeline, state: State, output_until: int | None = None) -> Verdict:
            return Verdict(
                Outcome.ERROR, 0, "cannot build the image\nTraceback (most recent call last):\nOSError: gone"
            )

    timelines = [Timeline(to_trace(REPLACE), FILE_SYSTEMS["xfs"])]
    executor = InlineExecutor(timelines, Unbuildable())
    search = Exploration(timelines, executor, lambda timeline, point, unsaid: 0, Budget(), 0, lambda event: None)
    with pytest.raises(EnvironmentFailure) as caught:
        search.run()
    assert caught.value.message == "the check could not be run: cannot build the image: OSError: gone."

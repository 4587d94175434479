"""Two runs compared: what is new, gone and unchanged, and what that is worth."""

from __future__ import annotations

from powercut.report.comparison import compare, comparison_document, comparison_text
from powercut.runs.store import SavedRun
from tests.unit.report_kit import hostile_run, sample_run


def runs() -> tuple[SavedRun, SavedRun]:
    return sample_run(), sample_run()


def test_equal_runs_are_unchanged() -> None:
    comparison = compare(*runs())
    assert [problem.id for problem in comparison.unchanged] == ["4b9265cf", "506f920b", "c68fe6b9"]
    assert (comparison.new, comparison.gone, comparison.doubts, comparison.is_worse) == ([], [], [], False)
    assert comparison_text(comparison).endswith("\n\n0 new, 0 gone, 3 unchanged")


def test_new_and_gone_are_told_apart() -> None:
    old, new = runs()
    old.findings, new.misuses = [], []
    comparison = compare(old, new)
    assert comparison_text(comparison) == (
        "new:\n  4b9265cf  finding: never synced, settings.py:8\n"
        "  506f920b  finding: acknowledged but lost, settings.py:10 (in the baseline: the user can save again)\n\n"
        "gone:\n  c68fe6b9  likely bug (lint): rename of unsynced data, settings.py:10\n\n"
        "2 new, 1 gone, 0 unchanged"
    )
    assert [item["id"] for item in comparison_document(comparison)["gone"]] == ["c68fe6b9"]


def test_only_what_is_wrong_for_sure_and_not_known_is_worse() -> None:
    old, new = runs()
    old.findings = old.findings[:1]
    assert not compare(old, new).is_worse  # the other one is known
    old.misuses = []
    assert compare(old, new).is_worse
    new.misuses[0].severity = "warning"
    assert not compare(old, new).is_worse


def test_gone_without_full_coverage_is_doubted() -> None:
    old, new = runs()
    new.findings, new.states["exhausted"], new.model = [], False, "xfs"
    assert compare(old, new).doubts == [
        "the models differ: ext4-ordered and xfs",
        "the second run did not cover every state: findings listed as gone may just not have been reached",
    ]
    new.states = {}
    assert "the second run: Nothing tested" in compare(old, new).doubts


def test_hostile_texts_stay_in_their_lines() -> None:
    old = sample_run()
    old.findings, old.misuses = [], []
    assert len(comparison_text(compare(old, hostile_run())).splitlines()) == 6

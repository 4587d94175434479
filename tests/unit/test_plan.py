"""The plan of a run: what cannot go on says why, and nothing in a plan is believed unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.errors import UsageError
from powercut.runs.run_plan import Plan, find_plan, load_plan, save_plan
from powercut.runs.store import find_run
from powercut.settings import Settings


def test_a_plan_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(b"")
    settings = Settings(check="sh 'a b' ü \udcff", fs="xfs,btrfs", budget="5m", max_states=7, timeout=2.5)
    plan = Plan(settings=settings, cwd="/odd \udcff/folder", notes=["something was not covered"])
    save_plan(tmp_path, plan)
    assert load_plan(tmp_path) == plan


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        ("", "broken-run"),
        ("[" * 100_000, "broken-run"),
        ('{"cwd": 3}', "broken-run"),
        ('{"cwd": "/", "settings": {"budget": "soon"}}', "bad-budget"),
        ('{"cwd": "/", "settings": {"fs": "fat"}}', "unknown-fs"),
        ('{"cwd": "/", "settings": {"timeout": -1}}', "broken-run"),
        ('{"cwd": "/", "settings": {"workers": 1e9}}', "broken-run"),
        ('{"cwd": "/", "settings": {"spell": 1}}', "broken-run"),
        ('{"cwd": "/", "settings": {}, "format": 9}', "other-run-format"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(tmp_path: Path, content: str, slug: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(UsageError) as refused:
        load_plan(tmp_path)
    assert refused.value.slug == slug


def test_runs_that_cannot_go_on(tmp_path: Path) -> None:
    def slug(name: str | None) -> str:
        with pytest.raises(UsageError) as refused:
            find_plan(tmp_path, name)
        return refused.value.slug

    assert slug(None) == slug("1") == "no-run"
    folder = tmp_path / "runs" / "0001"
    folder.mkdir(parents=True)
    assert (slug(None), slug("1")) == ("no-run", "not-resumable")
    (folder / "plan.json").touch()
    assert find_plan(tmp_path, None) == find_plan(tmp_path, "1") == find_plan(tmp_path, str(folder)) == folder
    with pytest.raises(UsageError, match="Continue with: powercut resume 1"):
        find_run(tmp_path, "1")

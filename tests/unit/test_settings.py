"""Settings: where they come from, which win, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.errors import UsageError
from powercut.settings import Settings, load_settings, seconds


def test_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {"dir": None, "max_states": None}) == Settings()


def test_files_and_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.powercut]\nfs = "xfs"\ntimeout = 3\n')
    assert load_settings(tmp_path, {}) == Settings(fs="xfs", timeout=3.0)
    assert load_settings(tmp_path, {"fs": "btrfs", "max_states": 7}) == Settings(fs="btrfs", timeout=3.0, max_states=7)
    (tmp_path / "powercut.toml").write_text(
        'max-states = 5\nfs = ["xfs", "btrfs"]\nbudget = 30\nno-such = 1\n'.replace("no-such = 1\n", "")
    )
    assert load_settings(tmp_path, {}) == Settings(max_states=5, fs="xfs,btrfs", budget="30")
    (tmp_path / "powercut.toml").write_text("")
    assert load_settings(tmp_path, {}) == Settings()  # an empty file is a file


def test_other_tools_may_write_what_they_like(tmp_path: Path) -> None:
    for text in ("tool = 3", "[tool]\nother = 1", "[[tool]]\npowercut = 1", ""):
        (tmp_path / "pyproject.toml").write_text(text)
        assert load_settings(tmp_path, {}) == Settings()


KNOWN = (
    "dir, any-folder, check, fs, memory, tracer, strategies, budget, max-states, timeout, workers, executor, "
    "ray-address, seed, cache, tear, scratch, output, namespaces, stacks, runtimes, lint, ignore, equivalence, "
    "fork-checks, baseline, race"
)
WRONG = {
    'dirr = "x"': "unknown setting 'dirr'. Did you mean dir?",
    "max_states = 3": "unknown setting 'max_states'. Did you mean max-states?",
    "xyzzy = 3": f"unknown setting 'xyzzy'. Known settings: {KNOWN}.",
    "[tool.powercut]\nfs = 'xfs'": "unknown setting 'tool'. Known settings: " + KNOWN + ".",
    "dir = 3": "dir must be text, not 3.",
    "fs = [1]": "fs must be text, not [1].",
    "budget = true": "budget must be text, not True.",
    "max-states = 1.5": "max-states must be a whole number, not 1.5.",
    "max-states = -1": "max-states must not be negative, but is -1.",
    "workers = true": "workers must be a whole number, not True.",
    "workers = -2": "workers must be between 0 (one per core) and 1024, not -2.",
    'timeout = "3"': "timeout must be a number, not '3'.",
    "timeout = nan": "timeout must be more than 0 seconds, not nan.",
    "timeout = 0": "timeout must be more than 0 seconds, not 0.",
    "tear = 1": "tear must be true or false, not 1.",
    'dir = ""': "dir is empty.",
    r'dir = "a\u0000b"': "dir must not contain a NUL character.",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_settings_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "powercut.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path, {})
    assert str(caught.value) == f"{path}: {WRONG[text]} [bad-settings-file]"


def test_values_that_only_their_own_part_understands(tmp_path: Path) -> None:
    for given, slug in (
        ({"fs": "zfs"}, "unknown-fs"),
        ({"budget": "soon"}, "bad-budget"),
        ({"budget": -1}, "bad-budget"),
    ):
        with pytest.raises(UsageError) as caught:
            load_settings(tmp_path, given)
        assert caught.value.slug == slug
    with pytest.raises(UsageError, match=r"unknown setting 'max-stats'\. Did you mean max-states"):
        load_settings(tmp_path, {"max_stats": 3})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "powercut.toml"
    for content, why in (
        (b"dir = ", "Invalid value (at end of document)"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff"),
    ):
        path.write_bytes(content)
        with pytest.raises(UsageError) as caught:
            load_settings(tmp_path, {})
        assert str(caught.value).startswith(f"cannot read {path}: {why}")
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path, {})
    assert str(caught.value) == f"cannot read {path}: Is a directory. [bad-settings-file]"
    path.rmdir()
    (tmp_path / "pyproject.toml").write_text("[tool]\npowercut = 3")
    with pytest.raises(UsageError, match=r"\[tool.powercut\] must be a table"):
        load_settings(tmp_path, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30", 30), ("30s", 30), ("1.5m", 90), ("2 min", 120), ("1h", 3600), ("250ms", 0.25), ("0", 0)],
)
def test_lengths_of_time(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "-1", "1d", "1h30m", "1e3", "nan", "inf", "9" * 400, "1,5", "٣x"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        seconds(text)

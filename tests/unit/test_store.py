"""Saved runs: written whole, found by number and id, read back as they were."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from powercut.errors import EnvironmentFailure, UsageError
from powercut.findings.finding import Finding, FindingKind, Fix, Location, SavedState, StackFrame
from powercut.runs.store import (
    SavedRun,
    find_finding,
    find_run,
    load_run,
    new_run_folder,
    save_run,
    saved_runs,
    write_durably,
)

ODD = os.fsdecode(b'/d\xff\xfe\n"\\ \xc3\xbc')  # a name that is not UTF-8


def finding(name: str) -> Finding:
    place = Location(ODD, 3, "f", "lost", "the write", (StackFrame("f", "x", 3, "m"),))
    state = SavedState("xfs", 512, 7, "guaranteed", (1, 2, 3))
    fix = Fix("sync", True)
    return Finding(FindingKind.ORDERING, "m", [place], fix, ["a"], ["b"], state, "fail", 1, "said\0", id=name)


def save(output: Path, *names: str) -> Path:
    folder = new_run_folder(output)
    save_run(folder, SavedRun(folder=ODD, findings=[finding(name) for name in names]))
    return folder


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    run = SavedRun(
        version="1",
        command=["a", ODD, "\U0001f600"],
        folder=ODD,
        check=["sh", ODD],
        timeout=0.1,
        findings=[finding("abc")],
        states={"tested": 3, "total": 10**30, "by_strategy": {"x": 1}},
        notes=["n\0", "☃"],
        interrupted=True,
    )
    save_run(tmp_path, run)
    assert load_run(tmp_path) == run
    assert load_run(tmp_path).findings[0].state.state().delta == {1, 2, 3}
    assert os.listdir(tmp_path) == ["run.json"]
    text = (tmp_path / "run.json").read_bytes()
    assert "☃".encode() in text  # people read it, too
    assert json.loads(text)["format"] == 2


def test_runs_are_numbered(tmp_path: Path) -> None:
    for number in ("0001", "0002"):
        assert new_run_folder(tmp_path) == tmp_path / "runs" / number
    (tmp_path / "runs" / "9999").mkdir()
    (tmp_path / "runs" / "notes").mkdir()
    assert new_run_folder(tmp_path) == tmp_path / "runs" / "10000"


def test_the_newest_run_comes_first_also_behind_9999(tmp_path: Path) -> None:
    for number in ("0001", "9999", "10000"):
        (tmp_path / "runs" / number).mkdir(parents=True)
        save_run(tmp_path / "runs" / number, SavedRun())
    (tmp_path / "runs" / "10001").mkdir()  # began, and was not saved
    assert [path.name for path in saved_runs(tmp_path)] == ["10000", "9999", "0001"]
    assert find_run(tmp_path).name == "10000"


def test_runs_by_number_and_path(tmp_path: Path) -> None:
    folder = save(tmp_path, "abc")
    for name in ("1", "01", "0001", str(folder)):
        assert find_run(tmp_path, name) == folder
    for name in ("2", "x", "..", "0001/..", "/"):
        with pytest.raises(UsageError) as caught:
            find_run(tmp_path, name)
        assert caught.value.slug == "no-run"


def test_findings_by_first_letters_in_the_newest_run_that_has_them(tmp_path: Path) -> None:
    first, second = save(tmp_path, "abcd", "abxx", "0123"), save(tmp_path, "abcd")
    assert find_finding(tmp_path, "abc")[0] == second
    assert find_finding(tmp_path, "1/abc")[0] == first
    assert find_finding(tmp_path, "abx")[0] == first
    assert find_finding(tmp_path, f"{first}/01")[2].id == "0123"
    assert find_finding(tmp_path, "2/")[2].id == "abcd"
    (second / "run.json").write_text("{}garbage")
    assert find_finding(tmp_path, "abc")[0] == first  # a broken run does not hide the others
    for name, slug in (("1/ab", "many-findings"), ("2/abcd", "broken-run"), ("3/abcd", "no-run"), ("zz", "no-finding")):
        with pytest.raises(UsageError) as caught:
            find_finding(tmp_path, name)
        assert caught.value.slug == slug, name


BROKEN = [b"", b"{", b"[]", b"3", b"null", b"\xff", b'{"findings": [{}]}', b"[" * 100_000, b'{"format": "x"}']


@pytest.mark.parametrize("content", BROKEN, ids=lambda content: content[:20])
def test_what_is_no_run(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_run(tmp_path)
    assert caught.value.slug == "broken-run"


def test_a_run_that_another_version_saved_is_read_as_far_as_it_is_understood(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"version": "99.1", "seconds": 2.0, "phase of the moon": "new"}')
    assert load_run(tmp_path).seconds == 2.0
    (tmp_path / "run.json").write_text('{"version": "99.1", "findings": [{"kind": "nova"}]}')
    with pytest.raises(
        UsageError, match=r"Invalid enum value 'nova'.* It was saved by powercut 99\.1\. \[broken-run\]"
    ):
        load_run(tmp_path)


def test_a_run_of_another_format(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": 3, "news": true}')
    with pytest.raises(UsageError) as caught:
        load_run(tmp_path)
    assert caught.value.slug == "other-run-format"


def test_a_run_whose_stacks_are_text_is_read_as_frames(tmp_path: Path) -> None:
    save_run(tmp_path, SavedRun(findings=[finding("abc")]))
    values = json.loads((tmp_path / "run.json").read_text())
    lines = ["write at sysdeps/write.c:26", "save at /src/a at b.c:7", "f at /lib/x.so", "g at ?", ""]
    (place,) = values["findings"][0]["locations"]
    del place["frames"]
    place["stack"], values["format"] = lines, 1
    (tmp_path / "run.json").write_text(json.dumps(values))
    read = load_run(tmp_path).findings[0].locations[0]
    assert list(read.stack[:-1]) == lines[:-1]
    sources = [(frame.file, frame.line) for frame in read.frames if frame.has_source]
    assert sources == [("/src/a at b.c", 7)]
    place["stack"] = [3]
    (tmp_path / "run.json").write_text(json.dumps(values))
    with pytest.raises(UsageError, match="broken-run"):
        load_run(tmp_path)


def test_writing_replaces_a_file_and_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    write_durably(tmp_path / "link", b"new")
    assert (tmp_path / "old").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "old"]


def test_writing_to_where_it_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for name in ("nowhere/x", "file/x", "folder", "n" * 300):
        with pytest.raises(EnvironmentFailure, match="cannot write"):
            write_durably(tmp_path / name, b"new")
    write_durably(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]

"""The survey of real programs: its files are whole, and what powercut finds in a few of them is what is expected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from survey import installing
from survey.comparison import difference, identity, judgement
from survey.page import covered
from survey.program import PROGRAMS, Expected, Malformed, all_programs, read_program
from survey.run import findings

ROOT = Path(__file__).resolve().parents[2]
CHEAP = (
    *("git-config", "java-files-move", "python-maildir", "python-mbox", "sed-in-place", "sqlite-delete-extra"),
    *("sqlite-delete-full", "ssh-keygen", "tinydb"),
)


def test_every_program_is_whole() -> None:
    """Each parses, and its commands name files that are there; the survey's folders are all programs."""
    programs = all_programs()
    assert {program.name for program in programs} == {path.name for path in PROGRAMS.iterdir()}
    for program in programs:
        for word in (*program.prepare, *program.workload, *program.check):
            assert not word.startswith(str(PROGRAMS)) or Path(word).exists(), (program.name, word)
        judged = [finding.what for finding in program.findings]
        assert len(judged) == len(set(judged)), program.name


@pytest.mark.parametrize("left_out", ["title", "workload", "judged"])
def test_a_program_that_lacks_something_says_so(left_out: str, tmp_path: Path) -> None:
    text = (PROGRAMS / "tinydb" / "program.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(left_out)]
    (tmp_path / "program.toml").write_text("\n".join(lines))
    with pytest.raises(Malformed, match=left_out):
        read_program(tmp_path)


def test_the_difference_names_what_is_missing_and_what_is_new() -> None:
    def expected(what: str, always: bool = True) -> Expected:
        return Expected(what, "true", "", "", always)

    known = [expected("one"), expected("two"), expected("three", always=False)]
    assert difference(["two", "four", "four"], known) == ["- one  [true]", "+ four  [not judged]"]
    assert difference(["one", "two"], known) == []


def test_one_judgement_may_stand_for_many() -> None:
    many = Expected("unpersisted: *", "documented behaviour", "", "", always=False)
    known = [many, Expected("unpersisted: one", "true", "", "", always=False)]
    assert difference(["unpersisted: one", "unpersisted: two", "ordering: one"], known) == [
        "+ ordering: one  [not judged]"
    ]
    assert [judgement(f"unpersisted: {what}", known) for what in ("one", "two")] == [known[1], many]


def test_a_finding_is_the_same_with_other_sizes_and_libraries() -> None:
    def finding(what: str, function: str, line: int) -> dict[str, object]:
        place = {"role": "lost", "what": what, "file": "/lib/libx.so.1", "function": function, "line": line}
        return {"kind": "ordering", "locations": [place]}

    one = finding("bytes 0 to 4,096 of pack-0f3a99c1.idx", "libx.so.1+0xabb33", 12)
    other = finding("bytes 8 to 16 of pack-77b1e2d4.idx", "libx.so.1+0xaf478", 15)
    assert identity(one) == identity(other) == "ordering: lost bytes of pack-#.idx (libx.so.#, libx.so.#)"
    drawn = finding("the growth of tmpq7x_aZ to 5 bytes", "save", 1)
    assert "the growth of * to bytes" in identity(drawn, [r"tmp\w+"])


def test_a_provisional_finding_is_no_finding() -> None:
    """What a budget cut short has no cause yet: another run would call it something else."""
    place = {"role": "lost", "what": "the write", "file": "a.py", "function": "save", "line": 1}
    told = {"kind": "ordering", "locations": [place], "message": "m", "models": ["xfs"]}
    report = {"findings": [told | {"id": "1", "cut_short": False}, told | {"id": "provisional-1", "cut_short": True}]}
    assert [one["id"] for one in findings(report, [])] == ["1"]


def test_cheap_programs_are_as_expected(tmp_path: Path) -> None:
    """What is not installed is said and skipped; every other program is as it was judged."""
    command = [sys.executable, "-m", "survey.run", "--work", str(tmp_path), *CHEAP]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same    sqlite-delete-full" in done.stdout
    assert len(done.stdout.splitlines()) == len(CHEAP), done.stdout


def test_the_share_of_more_states_than_a_float_holds_is_small() -> None:
    states: dict[str, object] = {
        "tested": 640,
        "known": 0,
        "equal": 0,
        "equivalent": 0,
        "total": None,
        "exhausted": False,
    }
    assert covered(states | {"estimate": {"log10": 1222.0, "error": 0.0}}) == "640"
    assert covered(states | {"estimate": {"log10": 4.0, "error": 0.1}}) == "640 (6.4%)"
    assert covered(states | {"estimate": None, "total": 1280}) == "640 (50.0%)"


def test_a_name_that_is_no_program_is_refused() -> None:
    command = [sys.executable, "-m", "survey.run", "no-such"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such program: no-such" in done.stderr


@pytest.mark.parametrize(("user", "expected"), [(0, ["update", "install"]), (1000, [])])
def test_only_root_installs_packages_of_debian_and_only_missing_ones(
    user: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(installing, "run", commands.append)
    monkeypatch.setattr(installing.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(installing.os, "geteuid", lambda: user)
    monkeypatch.setattr(installing, "is_installed", lambda package: package == "there")
    installing.install_from_debian(["there", "missing"])
    assert [word for command in commands for word in command if word in ("update", "install")] == expected
    assert all("there" not in command for command in commands)

"""The first settings and check: valid whatever the program's files are called and whatever it says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.starter.first_files import check_text, settings_text
from powercut.starter.survey import Changed, Survey
from tests.unit.report_kit import HOSTILE

NAMES = st.text(min_size=1) | st.just(HOSTILE) | st.sampled_from(['a"b', "a'b", "a\\", '"""', "{x}", "\udcff"])


@settings(max_examples=60)
@given(NAMES, st.sampled_from(["json", "sqlite", "bytes"]), NAMES)
def test_any_name_and_any_word_make_valid_files(name: str, form: str, said: str) -> None:
    found = Survey(".", [Changed(name, 3, form, 3, whole=True)], 1, said, maps=True)
    compile(check_text(found), "check", "exec")
    written = settings_text(found, ["prog", said], "data").encode("utf-8", "replace").decode()
    assert tomllib.loads(written) == {"dir": "data", "check": "python3 powercut_check.py"}


@pytest.mark.parametrize(("content", "acked", "code"), [('{"a": 1}', "saved\n", 0), ("{", "", 1), (None, "", 0)])
def test_the_check_judges(tmp_path: Path, content: str | None, acked: str, code: int) -> None:
    assert judged(tmp_path, content, acked) == code


def test_the_check_holds_the_program_to_whole_lines(tmp_path: Path) -> None:
    assert judged(tmp_path, None, "saved") == 0
    assert judged(tmp_path, None, "saved\n") == 1


def judged(folder: Path, content: str | None, acked: str) -> int:
    (folder / "check.py").write_text(check_text(Survey(".", [Changed("s.json", 2, "json")], 1, "saved", maps=False)))
    (folder / "acked").write_text(acked)
    if content is not None:
        (folder / "s.json").write_text(content)
    env = {"POWERCUT_DIR": str(folder), "POWERCUT_ACKED": str(folder / "acked")}
    return subprocess.run([sys.executable, str(folder / "check.py")], env=env, capture_output=True).returncode


OLD, NEW = b"old content", b"new content!"
REFUSED = {  # what the built-in check refuses -> what the generated check prints, or the reason why it cannot know
    "empty": (b"", "f is empty"),
    "missing": (None, "f is missing"),
    "torn": (NEW[:5], "one of these files is neither old nor new: 'f'"),
}


@pytest.mark.parametrize("form", ["bytes", "json", "sqlite"])
@pytest.mark.parametrize("how", REFUSED)
def test_the_check_is_not_weaker_than_the_built_in_one_without_saying_so(tmp_path: Path, how: str, form: str) -> None:
    content, said = REFUSED[how]
    text = check_text(Survey(".", [Changed("f", len(NEW), form, len(OLD), whole=True)], 0, "", maps=False))
    (tmp_path / "check.py").write_text(text)
    (tmp_path / "acked").write_text("")
    if content is not None:
        (tmp_path / "f").write_bytes(content)
    env = {"POWERCUT_DIR": str(tmp_path), "POWERCUT_ACKED": str(tmp_path / "acked")}
    done = subprocess.run([sys.executable, str(tmp_path / "check.py")], env=env, capture_output=True, text=True)
    assert (done.returncode == 1 and done.stderr) or said in text
    if how != "torn":
        assert said in done.stderr


def test_a_check_that_is_not_weaker_does_not_say_so() -> None:
    written_once = Changed("log", 5, "bytes")
    assert "weaker" not in check_text(Survey(".", [written_once], 0, "", maps=False))
    assert "although it was synced" in check_text(Survey(".", [written_once], 2, "", maps=False))
    many = [Changed(f"f{number}", 5, "bytes", 5, whole=True) for number in range(9)]
    assert "one of 4 more files, which this check does not test" in check_text(Survey(".", many, 0, "", maps=False))

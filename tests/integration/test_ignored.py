"""What tools make anew or own is there for programs and checks, and no crash state is made of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import powercut
from powercut import _engine
from powercut.image.ignored import MOST, PATTERNS, leaves_out, patterns_in
from powercut.search.events import Said
from powercut.trace.reader import Trace
from tests.needs import needs_views

SETTINGS = {"fs": "xfs", "workers": 2}
PROGRAM = """
import os, sys
sys.path.insert(0, ".")
import package.module
os.makedirs(".git", exist_ok=True)
open(".git/index", "w").write("x")
open("saved.new", "w").write("data")
os.rename("saved.new", "saved")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python package, bytecode switched on, and modules of Node."""
    folder = tmp_path / "project"
    (folder / "package").mkdir(parents=True)
    (folder / "package/module.py").write_text("X = 1\n")
    (folder / ".git").mkdir()
    (folder / "node_modules").mkdir()
    (folder / "node_modules/index.js").write_text("module")
    (folder / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return folder


def check(folder: Path) -> None:
    assert (folder / "node_modules/index.js").read_text() == "module"
    assert not (folder / "package/__pycache__").exists()
    saved = folder / "saved"
    assert not saved.exists() or saved.read_text() == "data", "saved is broken"


def names_in(run: powercut.api.SavedRun) -> str:
    return str([finding.message for finding in run.findings] + [misuse.message for misuse in run.misuses])


def test_the_first_finding_is_the_users(project: Path) -> None:
    said: list[object] = []
    run = powercut.explore([sys.executable, "program.py"], subscriber=said.append, **SETTINGS)
    assert run.findings
    assert "saved" in names_in(run)
    assert "pyc" not in names_in(run)
    assert ".git" not in names_in(run)
    (words,) = [event.text for event in said if isinstance(event, Said) and "--no-ignore" in event.text]
    assert words.startswith("not tested, since tools make them anew or own them: package/__pycache__ and ")


def test_all_names_count_if_the_user_says_so(project: Path) -> None:
    run = powercut.explore([sys.executable, "program.py"], ignore="none", **SETTINGS)
    assert "pyc" in names_in(run)


@needs_views
@pytest.mark.parametrize("copied", [False, True], ids=["layers", "copy"])
def test_checks_see_what_is_ignored(project: Path, monkeypatch: pytest.MonkeyPatch, *, copied: bool) -> None:
    if copied:
        monkeypatch.setattr(_engine, "try_layers", lambda *_: (0, "the kernel has no overlayfs", 0))
    run = powercut.explore([sys.executable, "program.py"], check, **SETTINGS)
    assert ["saved is broken" in finding.output for finding in run.findings] == [True]
    (trace,) = [Trace.open(path) for path in (project / ".powercut/runs").glob("*/trace")]
    assert (trace.rest is None) == copied


def test_a_repository_that_the_program_makes_is_its_data(project: Path) -> None:
    (project / ".git").rmdir()
    run = powercut.explore([sys.executable, "program.py"], **SETTINGS)
    assert ".git/index" in names_in(run)


def test_what_comes_out_of_an_ignored_folder_is_data(project: Path) -> None:
    def save() -> None:
        Path("node_modules/made").write_text("data")
        os.rename("node_modules/made", "saved")
        os.rename("saved", "named")

    def lost(folder: Path) -> None:
        assert not (folder / "saved").exists() or (folder / "saved").read_text() == "data"
        assert not (folder / "named").exists() or (folder / "named").read_text() == "data"

    run = powercut.explore(save, lost, **SETTINGS)
    assert run.findings == []
    assert run.states["tested"] > 1
    assert run.notes == []


def test_patterns_are_of_names_or_of_paths() -> None:
    patterns = patterns_in("default, *.log,build/*")
    assert patterns == (*PATTERNS, "*.log", "build/*")
    assert patterns_in("none") == ()
    for path in ("a/b.log", "a/__pycache__/b", "build/x/y", ".git"):
        assert leaves_out(patterns, path)
    for path in ("a/b.logs", "src/build/x", "git", "a.pyc.txt"):
        assert not leaves_out(patterns, path)
    for wrong in ("/etc", "a,,b", ",".join(str(number) for number in range(MOST + 1))):
        with pytest.raises(ValueError, match="pattern"):
            patterns_in(wrong)


MAPS = """
import mmap, os, sys
for name in sys.argv[1:]:
    with open(name, "w+b") as file:
        file.truncate(4096)
        shared = mmap.mmap(file.fileno(), 4096)
        shared[:5] = b"words"
os.rename(os.open("saved", os.O_CREAT | os.O_WRONLY) and "saved", "named")
"""


@pytest.mark.parametrize("name", ["data.db-shm", "__db.001", "lock.mdb"])
def test_memory_that_recovery_makes_anew_needs_no_memory_tracer(project: Path, name: str) -> None:
    said: list[object] = []
    run = powercut.explore([sys.executable, "-c", MAPS, name], lambda _: None, subscriber=said.append, **SETTINGS)
    assert run.notes == []
    assert not any("memory tracer" in event.text for event in said if isinstance(event, Said))

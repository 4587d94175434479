"""Projects as they lie on people's disks, tested where they lie: the first finding is the user's, not the tools'."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from powercut.findings.finding import Location, StackFrame
from powercut.report.source import line_hint

pytest_plugins = ["pytester"]

NODE = """\
const fs = require('fs');
const pad = require('pad');
fs.writeFileSync('saved.new', pad('data'));
fs.renameSync('saved.new', 'saved');
"""
CACHING = """\
const fs = require('fs');
fs.mkdirSync(`${__dirname}/.cache`, {recursive: true});
fs.writeFileSync(`${__dirname}/.cache/pad`, 'cached');
module.exports = (text) => text;
"""
PYTHON = """\
import logging, os
import shop.parts
with open("saved.new", "w") as file:
    file.write("data")
os.replace("saved.new", "saved")
"""
JAVA = """\
import java.nio.file.*;
public class App {
    public static void main(String[] arguments) throws Exception {
        Files.writeString(Path.of("saved.new"), "data");
        Files.move(Path.of("saved.new"), Path.of("saved"), StandardCopyOption.ATOMIC_MOVE);
    }
}
"""
GO = """\
package main

import "os"

func main() {
	os.WriteFile("saved.new", []byte("data"), 0o644)
	os.Rename("saved.new", "saved")
}
"""
CRASH_TEST = """
import pathlib
def test_saving(crash_test):
    def check(folder):
        assert not (folder / "saved").exists() or (folder / "saved").read_text() == "data"
    crash_test({command!r}, check, dir=pathlib.Path.cwd())
"""
LEFT_OUT = ("node_modules", "__pycache__", ".pyc", ".venv", "gc.log", "hsperf", ".git/", ".cache")


def node(here: Path) -> list[str]:
    """A program with dependencies, one of which writes into its own folder."""
    package = here / "node_modules" / "pad"
    package.mkdir(parents=True)
    (package / "index.js").write_text(CACHING)
    for number in range(220):
        (package / f"part{number}.js").write_text("")
    (here / "package.json").write_text('{"name": "app", "version": "1.0.0", "main": "app.js"}')
    (here / "app.js").write_text(NODE)
    return ["node", "app.js"]


def python(here: Path) -> list[str]:
    """A package with a virtual environment; bytecode is written."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", here / ".venv"], check=True)
    (installed,) = (here / ".venv" / "lib").glob("python*/site-packages")
    for number in range(220):
        (installed / f"part{number}.py").write_text(f"NUMBER = {number}\n")
    (here / "shop").mkdir()
    (here / "shop" / "__init__.py").write_text("")
    (here / "shop" / "parts.py").write_text("import part1, part2\n")
    (here / "app.py").write_text(PYTHON)
    return [str(here / ".venv" / "bin" / "python"), "app.py"]


def java(here: Path) -> list[str]:
    """A class, and a JVM that writes a log of its own beside it."""
    (here / "App.java").write_text(JAVA)
    subprocess.run(["javac", "-g", "-d", here / "target", here / "App.java"], check=True)
    return ["java", "-Xlog:gc:gc.log", "-Xshare:auto", "-cp", "target", "App"]


def go(here: Path) -> list[str]:
    """A module, and the program that was built from it."""
    (here / "go.mod").write_text("module example.com/app\n\ngo 1.18\n")
    (here / "main.go").write_text(GO)
    environment = {**os.environ, "HOME": str(here.parent)}
    subprocess.run(["go", "build", "-buildvcs=false", "-o", "app"], cwd=here, env=environment, check=True)
    return ["./app"]


NEEDED = {node: "node", python: "python3", java: "javac", go: "go"}


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A project with a repository, and what runs its program."""
    made: Callable[[Path], list[str]] = request.param
    if shutil.which(NEEDED[made]) is None:
        pytest.skip(f"{NEEDED[made]} is not installed")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    here = tmp_path / "project"
    (here / ".git").mkdir(parents=True)
    (here / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return here, made(here)


def of_any(*projects: Callable[[Path], list[str]]) -> Any:
    return pytest.mark.parametrize("project", projects, ids=[made.__name__ for made in projects], indirect=True)


@of_any(node, python, java, go)
def test_what_is_found_is_the_users(project: tuple[Path, list[str]]) -> None:
    here, command = project
    before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
    arguments = ["test", "--fs", "xfs", "--json", "../report.json", "--", *command]
    done = subprocess.run(
        [sys.executable, "-m", "powercut", *arguments], cwd=here, capture_output=True, text=True, check=False
    )
    report = json.loads((here.parent / "report.json").read_text())
    assert done.returncode == 1, done.stderr
    (finding,) = report["findings"]
    places = [place for one in (finding, *report["misuses"]) for place in one["locations"]]
    assert {Path(place["file"] or "?").name for place in places} <= {"app.js", "app.py", "App.java", "main.go"}
    assert "saved" in finding["message"]
    told = done.stdout.replace(str(here), "").replace("/.powercut/", "")
    assert not [name for name in LEFT_OUT if name in told]
    assert {path: path.stat().st_mtime_ns for path in before} == before


@of_any(node, python)
def test_what_a_suite_finds_is_the_users(
    project: tuple[Path, list[str]], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, command = project
    monkeypatch.chdir(here)
    (here / "test_app.py").write_text(CRASH_TEST.format(command=command))
    options = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--powercut-fs", "xfs", "test_app.py")
    ended = pytester.runpytest_subprocess(*options)
    ended.assert_outcomes(failed=1)
    text = ended.stdout.str()
    assert re.search(r"\n1 finding\. All \d+ crash states covered", text) and "never synced, app." in text
    findings = text.partition("never synced, app.")[2].partition("replay:")[0]
    assert not [name for name in LEFT_OUT if name in findings]


def test_go_run_is_told_to_remove_its_program(tmp_path: Path) -> None:
    frame = StackFrame("app+0x40268d", module="/tmp/go-build2366793830/b001/exe/app")
    (words,) = line_hint([Location(None, None, "app+0x40268d", "lost", frames=(frame,))])
    assert words == "  no line is known: go run has removed the program it built. Test what go build makes"

"""The same five mistakes in many languages: each is one finding, of the right kind, on the user's own lines.

The programs are in corpus/languages. What is not installed is skipped, and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import Finding, Run, powercut_test

from powercut.record.recorder import RecordOptions, record_command
from powercut.trace.layout import Kind
from powercut.trace.symbols import StackResolver, user_frame

PROGRAMS = Path(__file__).resolve().parents[2] / "corpus" / "languages"
FILES = {"config": "theme = light\n", "table": "old old old\n", "journal": "", "blob": "", "index": ""}
ROLES = {"lost": "LOST", "missing": "LOST", "survived": "SURVIVED", "acknowledged": "ACKED"}
ENVIRONMENT = {**os.environ, "GO111MODULE": "off", "GOCACHE": os.environ.get("GOCACHE", "/tmp/powercut-test-go")}
KINDS = {
    "config": {"unpersisted"},
    "entry": {"durability"},
    "table": {"atomicity", "ordering", "unpersisted"},
    "journal": {"durability"},
    "order": {"ordering"},
}


@dataclass(frozen=True)
class Cell:
    """A language and a way to write files in it: its source, and what builds and runs it, if that is there.

    Without `lines` what is built has no lines: functions are named.
    """

    source: str
    needs: tuple[str, ...]
    build: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    name: str = ""
    lines: bool = True


CELLS = [
    Cell("python_sync.py", (), run=(sys.executable, "{source}")),
    Cell("python_asyncio.py", (), run=(sys.executable, "{source}")),
    Cell("python_threads.py", (), run=(sys.executable, "{source}")),
    Cell("python_tasks.py", (), run=(sys.executable, "{source}")),
    Cell("node_sync.js", ("node",), run=("node", "{source}")),
    Cell("node_callbacks.js", ("node",), run=("node", "{source}")),
    Cell("node_promises.mjs", ("node",), run=("node", "{source}")),
    Cell("ruby.rb", ("ruby",), run=("ruby", "{source}")),
    Cell("perl.pl", ("perl",), run=("perl", "{source}")),
    Cell("go.go", ("go",), ("go", "build", "-o", "{program}", "{source}")),
    Cell("go.go", ("go",), ("go", "build", "-ldflags", "-s -w", "-o", "{program}", "{source}"), name="go_stripped"),
    Cell("rust.rs", ("rustc",), ("rustc", "-g", "-o", "{program}", "{source}")),
    Cell("rust.rs", ("rustc",), ("rustc", "-O", "-o", "{program}", "{source}"), name="rust_release", lines=False),
    Cell("JavaIo.java", ("java", "javac"), ("javac", "{source}"), ("java", "-cp", "{here}", "JavaIo")),
    Cell(
        "JavaIo.java",
        ("java", "javac"),
        ("javac", "{source}"),
        ("java", "-Xint", "-cp", "{here}", "JavaIo"),
        "java_interpreted",
    ),
    Cell("JavaNio.java", ("java", "javac"), ("javac", "{source}"), ("java", "-cp", "{here}", "JavaNio")),
    Cell("JavaPools.java", ("java", "javac"), ("javac", "{source}"), ("java", "-cp", "{here}", "JavaPools")),
    Cell("c.c", ("gcc",), ("gcc", "-g", "-o", "{program}", "{source}")),
    Cell("cpp.cpp", ("g++",), ("g++", "-g", "-std=c++17", "-o", "{program}", "{source}")),
]


def built(cell: Cell, here: Path) -> list[str]:
    """The command that runs a cell's program, built in a folder."""
    for tool in cell.needs:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    source = here / cell.source
    shutil.copy(PROGRAMS / cell.source, source)
    words = {"source": str(source), "here": str(here), "program": str(here / "program")}
    if cell.build:
        subprocess.run([word.format(**words) for word in cell.build], check=True, cwd=here, env=ENVIRONMENT)
    return [word.format(**words) for word in cell.run or ("{program}",)]


def marked(finding: Finding, cell: Cell) -> set[str]:
    """The mistakes whose lines a finding names, if it names only lines marked for them."""
    lines = (PROGRAMS / cell.source).read_text().splitlines()
    found = []
    for place in finding.locations:
        if not cell.lines:
            found.append({(place.function or "").rpartition("::")[2]})
            continue
        assert place.file is not None and Path(place.file).name == cell.source, finding
        assert place.line is not None
        words = lines[place.line - 1].partition("//" if "//" in lines[place.line - 1] else "#")[2].split()
        role = ROLES[place.role]
        found.append({after for word, after in pairwise(words) if word == role})
    return set.intersection(*found)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name or cell.source.partition(".")[0])
def test_five_mistakes_are_five_findings_on_the_users_own_lines(cell: Cell, tmp_path: Path) -> None:
    command = built(cell, tmp_path)
    check = f"sh {PROGRAMS / 'check.sh'}"
    for variant in ("buggy", "fixed"):
        data = tmp_path / variant
        data.mkdir()
        for name, text in FILES.items():
            (data / name).write_text(text)
        run = powercut_test([*command, variant], check, data, inside=True)
        if variant == "fixed":
            assert run.code == 0, run.output
            continue
        found = {mistake: finding.kind for finding in run.findings for mistake in marked(finding, cell)}
        assert set(found) == set(KINDS), run.output
        assert len(run.findings) == len(KINDS), run.output
        for mistake, kind in found.items():
            assert kind in KINDS[mistake], (mistake, kind)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def save_with_node(here: Path, *command: str, options: tuple[str, ...] = ()) -> Run:
    data = here / "data"
    data.mkdir()
    program = here / "save.js"
    program.write_text("const fs = require('fs');\nfs.writeFileSync('new', 'whole');\nfs.renameSync('new', 'file');\n")
    check = '[ ! -e file ] || [ "$(cat file)" = whole ]'
    (here / "check").write_text(check)
    return powercut_test([*command, "node", str(program)], f"sh {here / 'check'}", data, inside=True, options=options)


@needs_node
def test_what_is_put_into_the_environment_is_said_on_demand(tmp_path: Path) -> None:
    run = save_with_node(tmp_path, options=("-v",))
    assert "Put into the program's environment:\n  NODE_OPTIONS=--require " in run.output
    assert [place.line for place in run.findings[0].locations] == [2, 3]


@needs_node
def test_without_agents_the_environment_is_the_users(tmp_path: Path) -> None:
    run = save_with_node(tmp_path, options=("-v", "--no-runtimes"))
    assert "NODE_OPTIONS" not in run.output
    assert "did not load" not in run.output
    assert all(Path(place.file or "").suffix != ".js" for place in run.findings[0].locations)


@needs_node
def test_a_node_that_loads_no_agent_is_recorded_all_the_same_and_said(tmp_path: Path) -> None:
    run = save_with_node(tmp_path, "env", "-u", "NODE_OPTIONS")
    assert len(run.findings) == 1
    assert run.output.count("did not load powercut's agent, so findings name the script instead of lines") == 1


def test_a_finding_without_any_line_says_which_command_line_it_was(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("one", "two"):
        (data / name).write_text("old")
    check = "for name in one two; do grep -q . $name || { echo $name is empty; exit 1; }; done"
    (tmp_path / "check").write_text(check)
    script = "for name in one two; do printf new > $name.new; mv $name.new $name; done"
    run = powercut_test(["sh", "-c", script], f"sh {tmp_path / 'check'}", data, inside=True)
    findings: Any = run.report["findings"]
    by = {(place["role"], place["process"]) for finding in findings for place in finding["locations"]}
    assert {words for role, words in by if role == "survived"} == {"mv one.new one", "mv two.new two"}
    assert all("sh -c 'for name in one two; do printf new" in words for role, words in by if role == "lost")
    assert len(findings) == 2, "the path tells what one line does to different files"
    assert "by mv one.new one\n" in run.output


PACKAGES = """\
const fs = require('fs');
// As packages do it: nothing of the program is on the stack when the pool is asked for the second and third call.
function replace(path, text, done) {
  const rename = () => fs.rename(path + '.new', path, done);
  fs.stat(path, () => fs.writeFile(path + '.new', text, () => setImmediate(rename)));
}
async function later(path, text) {
  await null;
  await fs.promises.writeFile(path + '.new', text);
  await fs.promises.copyFile(path + '.new', path + '.copy');
  await fs.promises.rename(path + '.new', path);
}
async function unawaited(path, text) {
  await null;
  await fs.promises.writeFile(path, text);
}
module.exports = { replace, later, unawaited };
"""
PROGRAM = """\
const { replace, later, unawaited } = require('store');
const { Worker, isMainThread } = require('worker_threads');
Error.prepareStackTrace = (error, frames) => frames;
if (isMainThread) {
  replace('a', 'text', () => {});
  (async () => {
    await later('b', 'text');
  })();
  unawaited('d', 'text');
  new Worker(__filename);
} else {
  require('fs').writeFileSync('c', 'text');
}
"""


@needs_node
def test_lines_of_node_are_those_that_called_packages_also_in_workers(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "store"
    package.mkdir(parents=True)
    (package / "index.js").write_text(PACKAGES)
    (tmp_path / "main.js").write_text(PROGRAM)
    (tmp_path / "data").mkdir()
    options = RecordOptions(tmp_path / "data", tmp_path / "data", tmp_path / "trace", runtimes=True)
    trace = record_command(["node", str(tmp_path / "main.js")], options).trace
    resolver = StackResolver.of(trace)
    found = set()
    for event in trace.events[trace.of_kind(Kind.CREATE, Kind.WRITE, Kind.RENAME, Kind.SETATTR, Kind.TRUNCATE)]:
        frame = user_frame(resolver.frames(int(event["stack"])))
        path = trace.string(int(event["path2"]) or int(event["path"])).decode().partition(".")[0]
        found.add((path, Path(frame.file or "").name, frame.line) if frame and path else None)
    # Nothing waits for the last one, and it began behind an await: no line of the program may be named for it.
    named = {("a", "main.js", 5), ("b", "main.js", 7), ("c", "main.js", 12), ("d", "index.js", 15)}
    assert found - {None} == named

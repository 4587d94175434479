"""Ways to write files that hide the program's own line, or let an agent fail: that line is named, or what is known.

Lines of the programs that a finding must name end with LOST, SURVIVED or ACKED.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import Run, powercut_test

CHECK = """\
case "$(cat state)" in old | new) ;; *) echo "state is damaged"; exit 1 ;; esac
! grep -q logged "$POWERCUT_ACKED" || grep -q entry log || { echo "the entry is lost"; exit 1; }
"""
ROLES = {"lost": "LOST", "missing": "LOST", "survived": "SURVIVED", "acknowledged": "ACKED"}
GO = {**os.environ, "GOCACHE": os.environ.get("GOCACHE", "/tmp/powercut-test-go"), "GOFLAGS": ""}


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


def write(here: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)


def judged(here: Path, command: Sequence[str]) -> Run:
    write(here, {"check.sh": CHECK, "data/state": "old", "data/log": ""})
    return powercut_test(command, f"sh {here / 'check.sh'}", here / "data", inside=True)


def places(run: Run) -> set[tuple[str, str, int | None]]:
    """Role, file and line of all that the findings name."""
    return {
        (ROLES[place.role], Path(place.file or "").name, place.line) for one in run.findings for place in one.locations
    }


def marked(files: dict[str, str]) -> set[tuple[str, str, int | None]]:
    return {
        (role, Path(name).name, number)
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        for role in set(ROLES.values())
        if role in line.partition("//" if "//" in line else "#")[2].split()
    }


def how(run: Run) -> set[str]:
    findings: Any = run.report["findings"]
    return {finding["fix"]["how"] for finding in findings}


def fixes(run: Run) -> set[str]:
    findings: Any = run.report["findings"]
    return {finding["fix"]["text"] for finding in findings}


NODE_PACKAGE = {
    "node_modules/write-it/package.json": '{"name": "write-it", "type": "module", "exports": "./index.js"}',
    "node_modules/write-it/index.js": """\
import { rename, writeFile } from 'node:fs/promises';
export async function writeIt(path, text) {
  await writeFile(path + '.new', text);
  await rename(path + '.new', path);
}
""",
    "main.mjs": """\
import { appendFile } from 'node:fs/promises';
import { writeIt } from 'write-it';
async function settings() {
  await writeIt('state', 'new'); // LOST SURVIVED
}
await settings();
await appendFile('log', 'entry'); // LOST
console.log('logged'); // ACKED
""",
}


@needs("node")
def test_a_package_that_awaits_is_called_by_the_programs_own_line(tmp_path: Path) -> None:
    write(tmp_path, NODE_PACKAGE)
    run = judged(tmp_path, ["node", str(tmp_path / "main.mjs")])
    assert len(run.findings) == 2, run.output
    assert places(run) == marked(NODE_PACKAGE), run.output
    assert how(run) == {"in Node: await handle.datasync()"}, "both are promises, whatever is left of their stacks"


NODE_CALLBACK = {
    "node_modules/move/index.js": """\
const fs = require('fs');
// As fs-extra does it: what is awaited goes through callbacks of node's own.
const promised = (call) => new Promise((done) => call(done));
exports.move = async (from, to) => {
  await promised((done) => fs.stat(from, done));
  await promised((done) => fs.rm(to, { recursive: true, force: true }, done));
  await promised((done) => fs.rename(from, to, done));
};
""",
    "main.js": """\
const { move } = require('move');
const fs = require('fs');
(async () => {
  fs.writeFileSync('new', 'new');
  fs.fsyncSync(fs.openSync('new'));
  await move('new', 'state'); // LOST SURVIVED
})();
""",
}


@needs("node")
def test_what_callbacks_of_node_do_for_an_awaited_package_is_the_awaiting_lines(tmp_path: Path) -> None:
    write(tmp_path, NODE_CALLBACK)
    run = judged(tmp_path, ["node", str(tmp_path / "main.js")])
    assert places(run) == marked(NODE_CALLBACK), run.output
    assert [one.kind for one in run.findings] == ["atomicity"]


NODE = {
    "save.js": """\
const fs = require('fs');
fs.writeFileSync('state.new', 'new'); // LOST
fs.renameSync('state.new', 'state'); // SURVIVED
"""
}


@needs("node")
@pytest.mark.parametrize("option", ["--frozen-intrinsics", "--stack-trace-limit=0", "--enable-source-maps"])
def test_lines_of_node_are_named_whatever_its_options_are(tmp_path: Path, option: str) -> None:
    write(tmp_path, NODE)
    run = judged(tmp_path, ["node", option, str(tmp_path / "save.js")])
    assert places(run) == marked(NODE), run.output
    assert "agent" not in run.output


@needs("node")
def test_a_node_that_cannot_be_followed_says_why_once_and_names_the_script(tmp_path: Path) -> None:
    write(tmp_path, NODE)
    options = ["--experimental-permission", "--allow-fs-read=*", "--allow-fs-write=*"]
    run = judged(tmp_path, ["node", *options, str(tmp_path / "save.js")])
    if not run.findings:
        pytest.skip("this node has no permission model")
    assert run.output.count("powercut: warning: ") == 1, run.output
    assert "lines of JavaScript are missing" in run.output
    assert places(run) == {("LOST", "", None), ("SURVIVED", "", None)}
    assert fixes(run) == {"call fdatasync(state.new) before the rename of state.new to state (node save.js)"}
    assert how(run) == {"in Node: fs.fdatasyncSync(fd)"}


SHELL = """\
printf new > state.new
mv state.new state
echo entry | tee -a log > /dev/null
echo logged
"""


def test_of_shells_the_script_and_what_it_did_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"save.sh": SHELL})
    run = judged(tmp_path, ["sh", str(tmp_path / "save.sh")])
    named = {(place.role, place.function, place.file) for one in run.findings for place in one.locations}
    assert named == {
        ("lost", "sh save.sh", None),
        ("survived", "mv state.new", None),
        ("lost", "tee log", None),
        ("acknowledged", "sh save.sh", None),
    }
    assert fixes(run) == {
        "call fdatasync(state.new) before the rename of state.new to state (mv state.new)",
        "call fdatasync(log) before the output 'logged' (sh save.sh)",
    }


def test_a_script_of_several_lines_on_the_command_line_is_told_in_one(tmp_path: Path) -> None:
    run = judged(tmp_path, ["sh", "-c", SHELL])
    findings: Any = run.report["findings"]
    told = {place["process"] for finding in findings for place in finding["locations"] if place["function"] == "sh"}
    assert len(told) == 1
    assert "sh -c 'printf new > state.new mv state.new state echo entry | tee -a log" in told.pop()


CGO = {
    "main.go": """\
package main

/*
#include <stdio.h>
#include <stdlib.h>
static int put(const char *name, const char *text) {
	FILE *f = fopen(name, "w");
	fputs(text, f);
	fflush(f); // LOST
	return ferror(f) || fclose(f);
}
*/
import "C"

import (
	"os"
	"syscall"
)

func main() {
	C.put(C.CString("state.new"), C.CString("new"))
	os.Rename("state.new", "state") // SURVIVED
	fd, _ := syscall.Open("log", syscall.O_WRONLY, 0)
	syscall.Write(fd, []byte("entry")) // LOST
	os.Stdout.WriteString("logged") // ACKED
}
"""
}


@needs("go")
@needs("gcc")
def test_lines_behind_cgo_are_those_of_gos_own_stack_traces(tmp_path: Path) -> None:
    write(tmp_path, CGO)
    environment = {**GO, "GO111MODULE": "off", "CGO_ENABLED": "1"}
    subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=tmp_path, env=environment, check=True)
    run = judged(tmp_path, [str(tmp_path / "program")])
    assert places(run) == marked(CGO), run.output
    assert "in C: fflush(f), then fdatasync(fileno(f))" in how(run)


CGO_TAIL = {
    "main.go": """\
package main

/*
#include <stdio.h>
static FILE *file;
static void put(const char *name, const char *text) {
	file = fopen(name, "w");
	fputs(text, file);
}
static void end(void) { fclose(file); }
*/
import "C"

import "os"

func save() {
	C.put(C.CString("state.new"), C.CString("new"))
	C.end() // LOST
}

func main() {
	save()
	os.Rename("state.new", "state") // SURVIVED
}
"""
}


@needs("go")
@needs("gcc")
def test_c_code_that_left_no_frame_is_called_by_a_line_of_go(tmp_path: Path) -> None:
    """The compiler jumps from `end` into fclose: what is left is the goroutine, on another stack."""
    write(tmp_path, CGO_TAIL)
    environment = {**GO, "GO111MODULE": "off", "CGO_ENABLED": "1"}
    subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=tmp_path, env=environment, check=True)
    run = judged(tmp_path, [str(tmp_path / "program")])
    assert places(run) == marked(CGO_TAIL), run.output


VENDOR = {
    "go.mod": "module example.com/app\n\ngo 1.19\n\nrequire example.org/atomicfile v1.2.3\n",
    "vendor/modules.txt": "# example.org/atomicfile v1.2.3\n## explicit; go 1.19\nexample.org/atomicfile\n",
    "vendor/example.org/atomicfile/file.go": """\
package atomicfile

import "os"

func Write(name, text string) {
	f, _ := os.Create(name + ".new")
	f.WriteString(text)
	f.Close()
	os.Rename(name+".new", name)
}
""",
    "main.go": """\
package main

import (
	"example.org/atomicfile"
	"os"
	"text/template"
)

func main() {
	atomicfile.Write("state", "new") // LOST SURVIVED
	log, _ := os.OpenFile("log", os.O_RDWR, 0)
	template.Must(template.New("x").Parse("entry")).Execute(log, 1) // LOST
	os.Stdout.WriteString("logged") // ACKED
}
""",
}


@needs("go")
@pytest.mark.parametrize("flags", [(), ("-trimpath",)], ids=["paths", "trimmed"])
def test_packages_in_vendor_and_of_go_are_called_by_the_programs_own_line(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    write(tmp_path, VENDOR)
    environment = {**GO, "GO111MODULE": "on", "CGO_ENABLED": "0"}
    build = ["go", "build", "-mod=vendor", *flags, "-o", "program", "."]
    subprocess.run(build, cwd=tmp_path, env=environment, check=True)
    run = judged(tmp_path, [str(tmp_path / "program")])
    assert places(run) == marked({"main.go": VENDOR["main.go"]}), run.output
    assert len(run.findings) == 2, run.output


JAVA = {
    "Save.java": """\
import java.nio.file.*;
public class Save {
    public static void main(String[] arguments) throws Exception {
        Files.writeString(Path.of("state.new"), "new"); // LOST
        Files.move(Path.of("state.new"), Path.of("state"), StandardCopyOption.ATOMIC_MOVE); // SURVIVED
    }
}
"""
}
DEBUGGER = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"


@needs("javac")
@pytest.mark.parametrize("where", ["command line", "file", "variable"])
def test_a_debugger_and_the_agent_live_in_one_jvm(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {**JAVA, "options": DEBUGGER})
    subprocess.run(["javac", "Save.java"], cwd=tmp_path, check=True)
    options = {"command line": [DEBUGGER], "file": [f"@{tmp_path / 'options'}"], "variable": []}[where]
    if where == "variable":
        monkeypatch.setenv("JDK_JAVA_OPTIONS", DEBUGGER)
    run = judged(tmp_path, ["java", *options, "-cp", str(tmp_path), "Save"])
    assert places(run) == marked(JAVA), run.output
    assert "who gave an executor its tasks is not told" in run.output


@needs("javac")
def test_a_jvm_that_lost_its_agent_names_the_class(tmp_path: Path) -> None:
    write(tmp_path, JAVA)
    subprocess.run(["javac", "Save.java"], cwd=tmp_path, check=True)
    run = judged(tmp_path, ["env", "-u", "JAVA_TOOL_OPTIONS", "java", "-cp", str(tmp_path), "Save"])
    assert {place.function for one in run.findings for place in one.locations} == {"java Save"}, run.output


LIBRARY = {
    "library/com/acme/Saver.java": """\
package com.acme;
import java.nio.file.*;
public class Saver {
    public static void save(String name, String text) throws Exception {
        Files.writeString(Path.of(name + ".new"), text);
        Files.move(Path.of(name + ".new"), Path.of(name), StandardCopyOption.ATOMIC_MOVE);
    }
}
"""
}
APPLICATION = {
    "src/App.java": """\
public class App {
    public static void main(String[] arguments) throws Exception {
        com.acme.Saver.save("state", "new"); // LOST SURVIVED
    }
}
"""
}


@needs("javac")
@pytest.mark.parametrize("packed", ["apart", "together"])
def test_classes_of_a_jar_whose_source_is_nowhere_are_called_by_the_line_that_is_there(
    tmp_path: Path, packed: str
) -> None:
    write(tmp_path, LIBRARY | APPLICATION)
    theirs, mine = ("lib/acme.jar", "lib/app.jar") if packed == "apart" else ("lib/all.jar", "lib/all.jar")
    (tmp_path / "lib").mkdir()
    for folder, source, jar in (("a", *LIBRARY, theirs), ("b", *APPLICATION, mine)):
        subprocess.run(["javac", "-cp", "a", "-d", folder, source], cwd=tmp_path, check=True)
        flags = "uf" if (tmp_path / jar).exists() else "cf"
        subprocess.run(["jar", flags, jar, "-C", folder, "."], cwd=tmp_path, check=True)
    shutil.rmtree(tmp_path / "library")
    run = judged(tmp_path, ["java", "-cp", f"{tmp_path}/lib/*", "App"])
    assert places(run) == marked(APPLICATION), run.output


OLD = next(iter(sorted(Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python"))), None)


@pytest.mark.skipif(OLD is None, reason="no Python before 3.10 is installed")
def test_a_python_whose_stacks_nobody_reads_is_said_and_its_script_is_named(tmp_path: Path) -> None:
    assert OLD is not None
    program = "import os\nopen('state.new', 'w').write('new')\nos.rename('state.new', 'state')\n"
    write(tmp_path, {"save.py": program})
    run = judged(tmp_path, [str(OLD), str(tmp_path / "save.py")])
    assert {place.function for one in run.findings for place in one.locations} == {"python save.py"}, run.output
    assert run.output.count("are not read (those of CPython 3.11 to 3.14 are)") == 1
    assert how(run) == {"in Python: f.flush(), then os.fsync(f.fileno())"}

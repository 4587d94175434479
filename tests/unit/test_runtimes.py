"""What runtimes put into the environment, and how what their agents tell becomes frames."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from powercut.findings.places import place_of
from powercut.report.problems import steps
from powercut.runtimes.known import RUNTIMES, told_frames, variables
from powercut.runtimes.runtime import AGENTS, ToldFrame
from powercut.trace.symbols import Frame, in_language_library, only_own, user_frame

HEADER = Path(__file__).resolve().parents[2] / "native" / "told_format.h"
V8 = """Error
    at write (node:internal/fs/promises:741:17)
    at Object.<anonymous> (/app/save.js:4:5)
    at new Store (file:///app/my%20store.mjs:7:3)
    at async /app/save.js:9:1
    at async Promise.all (index 0)
    at eval (eval at run (/app/x.js:1:1), <anonymous>:1:2)
    at /app/node_modules/lib/index.js:3:4"""


def test_a_stack_of_v8_is_its_frames() -> None:
    language, frames = told_frames(f"node\0{V8}".encode())
    assert language == "node"
    assert frames[:4] == [
        ToldFrame("write", "node:internal/fs/promises", 741, 17),
        ToldFrame("<module>", "/app/save.js", 4, 5),
        ToldFrame("new Store", "/app/my store.mjs", 7, 3),
        ToldFrame("<anonymous>", "/app/save.js", 9, 1),
    ]


def test_lines_of_node_and_of_packages_are_not_the_users_own() -> None:
    frames = [
        Frame(told.function, told.file, told.line, None, language="node")
        for told in told_frames(f"node\0{V8}".encode())[1]
    ]
    native = Frame("uv__fs_work", "deps/uv/src/unix/fs.c", 1692, "/usr/bin/node")
    assert [frame.line for frame in only_own([native, *frames])] == [4, 7, 9]
    assert user_frame([native, *frames]) == frames[1]
    package = Frame("save", "/app/node_modules/store/index.js", 3, None, language="node")
    made = Frame("new Promise", "<anonymous>", None, None, language="node")
    assert user_frame([native, made, package]) == package


@pytest.mark.parametrize(
    "entry", [b"", b"node", b"node\0", b"klingon\0x", b"\xff\0\xff", b"node\0Error\n    at (:\n    at "]
)
def test_what_no_agent_would_tell_gives_no_frames_with_lines(entry: bytes) -> None:
    assert all(frame.line is None for frame in told_frames(entry)[1])


def test_what_the_user_has_in_the_environment_stays() -> None:
    before = {"NODE_OPTIONS": "--max-old-space-size=64", "PATH": "/bin"}
    added = variables(before)
    assert re.fullmatch(r'--require ".*/node.cjs" --max-old-space-size=64', added["NODE_OPTIONS"])
    assert "PATH" not in added


def test_agents_write_to_the_descriptor_that_the_tracer_takes() -> None:
    (number,) = re.findall(r"PC_TOLD_FD\s+(0x[0-9a-f]+)", HEADER.read_text())
    agents = [path for path in AGENTS.rglob("*") if path.suffix in (".cjs", ".py")]
    agents = [path for path in agents if path.name != "sitecustomize.py"]
    assert agents
    assert all(number in path.read_text() for path in agents)


def test_a_program_keeps_its_own_sitecustomize_and_its_path(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('own')\n")
    before = {**os.environ, "PYTHONPATH": str(tmp_path)}
    program = [sys.executable, "-c", "import sys; print([folder for folder in sys.path if 'agents' in folder])"]
    done = subprocess.run(program, env=before | variables(before), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("own\n[]\n", "")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_agents_are_quiet_where_no_tracer_listens(tmp_path: Path) -> None:
    program = "fs.writeFileSync('f', 'x'); fs.promises.rename('f', 'g').then(() => console.log(process.execArgv))"
    environment = os.environ | variables(os.environ)
    done = subprocess.run(["node", "-e", f"const fs = require('fs'); {program}"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert (tmp_path / "g").read_text() == "x"
    assert done.stderr == ""


def test_a_stack_has_one_joint_where_it_was_asked_for() -> None:
    frames = [
        Frame("write", "/lib/python3.11/os.py", 1, None, python=True),
        Frame("save", "/app/a.py", 3, None, python=True, language="python", asked=True),
        Frame("main", "/app/a.py", 9, None, python=True, language="python", asked=True),
    ]
    place = place_of(user_frame(frames), frames, "lost")
    assert (place.line, place.asked) == (3, "save, a.py:3")
    assert place.stack == (
        "write at /lib/python3.11/os.py:1",
        "asked for by save at /app/a.py:3",
        "main at /app/a.py:9",
    )
    assert [step.words for step in steps(place)] == ["main", "asked for by save", "write"]


def test_a_compiled_program_that_a_script_started_has_its_own_lines_first() -> None:
    script = Frame("main", "/app/run.pl", 3, None, language="perl", asked=True)
    own = Frame("save", "/app/save.c", 7, "/app/save")
    copy = Frame("copy_file_range", None, None, "/usr/bin/cp")
    assert only_own([own, script]) == [own, script]
    assert only_own([copy, script]) == [script]
    inside = Frame("save", "/app/run.pl", 2, None, language="perl")
    assert only_own([own, inside, script]) == [inside, script]


def test_lines_of_java_are_found_beside_the_classes_and_in_the_sources_of_a_build(tmp_path: Path) -> None:
    source = tmp_path / "app" / "src" / "main" / "java" / "com" / "acme" / "Store.java"
    source.parent.mkdir(parents=True)
    source.write_text("class Store {}")
    built = f"file:{tmp_path}/app/target/classes/"
    row = "com.acme.Store.save\tcom/acme/Store.java\t7\t"
    library = "org.lib.Db.put\torg/lib/Db.java\t3\tfile:/opt/u/.m2/repository/org/lib/db/1/db-1.jar"
    text = f"java\0java.io.FileOutputStream.write\tjava/io/FileOutputStream.java\t349\n{library}\n{row}{built}\n{row}\n"
    language, told = told_frames(text.encode())
    assert told[1].file == "/opt/u/.m2/repository/org/lib/db/1/db-1.jar!/org/lib/Db.java"
    assert [frame.file for frame in told[2:]] == [str(source), "com/acme/Store.java"]
    frames = [Frame(frame.function, frame.file, frame.line, None, language=language) for frame in told]
    assert user_frame(frames) == frames[2]
    assert [in_language_library(frame) for frame in frames] == [True, False, False, False]


def test_runtimes_have_names_of_their_own() -> None:
    assert len({runtime.language for runtime in RUNTIMES}) == len(RUNTIMES)

"""corpus/calls: the line of the program is blamed, whatever way its call of PMDK takes; nothing else is found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import CORPUS, POWERCUT

import powercut
from powercut.assertions.compile import compile_tracked, find_compiler
from powercut.native_programs import why_no_memory_tool

CALLS = CORPUS / "calls"
Found = set[tuple[str, int]]  # pattern and line

needs_memory_tool = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")


def expected(case: str) -> Found:
    lines = (CALLS / case / "program.c").read_text().splitlines()
    return {(kind, number) for number, line in enumerate(lines, 1) for kind in re.findall(r"/\* FAIL ([a-z-]+)", line)}


def build_library(case: str, folder: Path, *flags: str) -> Path:
    library = folder / "libpmemobj.so.1"
    shared = ["-fPIC", "-shared", f"-Wl,-soname,{library.name}", str(CALLS / case / "library.c"), "-o", str(library)]
    subprocess.run(["cc", *flags, *shared], check=True)
    return library


def linted(program: Path, folder: Path) -> Found:
    data, trace = folder / "data", folder / "trace"
    data.mkdir()
    command = [POWERCUT, "record", "--tracer", "memory", "-o", trace, "--dir", data, "--", program, data / "pool"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=120)
    done = subprocess.run([POWERCUT, "lint", "--json", "-", trace], capture_output=True, text=True, timeout=60)
    return {(found["pattern"], found["locations"][0]["line"]) for found in json.loads(done.stdout)["misuses"]}


def test_each_case_says_what_it_is_about() -> None:
    for case in CALLS.iterdir():
        about = tomllib.loads((case / "case.toml").read_text())
        assert about["title"] and about["command"] in ("lint", "check") and isinstance(about["links"], list)
        assert expected(case.name)


@needs_memory_tool
@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-fno-plt"], ["-O2", "-no-pie", "-fcf-protection=full"]])
def test_functions_that_jump_are_seen_through(flags: list[str], tmp_path: Path) -> None:
    library = build_library("tail-jumps", tmp_path, "-O2", "-foptimize-sibling-calls")
    subprocess.run(["strip", str(library)], check=True)
    program = tmp_path / "program"
    source = str(CALLS / "tail-jumps" / "program.c")
    subprocess.run(["cc", "-g", *flags, source, str(library), f"-Wl,-rpath,{tmp_path}", "-o", str(program)], check=True)
    assert linted(program, tmp_path) == expected("tail-jumps")


@needs_memory_tool
def test_second_persist_of_pmdk_is_found(tmp_path: Path) -> None:
    program = tmp_path / "program"
    source = str(CALLS / "persist-twice" / "program.c")
    words = ["cc", "-g", "-O1", source, "-o", str(program), "-lpmemobj"]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("libpmemobj-dev is not installed")
    assert linted(program, tmp_path) == expected("persist-twice")


@pytest.mark.parametrize("library", [["-O0"], ["-O2"], ["-O2", "-fno-plt"]])
@pytest.mark.parametrize("program", [["-O0"], ["-O2"]])
def test_only_what_fails_is_found(library: list[str], program: list[str], tmp_path: Path) -> None:
    built = build_library("inline-functions", tmp_path, *library)
    source = str(CALLS / "inline-functions" / "program.c")
    words = [*program, "-g", source, str(built), f"-Wl,-rpath,{tmp_path}", "-o", str(tmp_path / "program")]
    assert compile_tracked(find_compiler("cc"), words) == 0
    checked = powercut.check_program([str(tmp_path / "program"), str(tmp_path / "pool")])
    assert (checked.code, checked.signal) == (0, 0)
    assert {(finding.pattern, finding.locations[0].line) for finding in checked.findings} == expected(
        "inline-functions"
    )

"""pmtest.h has every name of PMTest's headers, with what each means there: a program that uses them all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import powercut
from powercut.assertions.compile import compile_tracked, find_compiler
from tests.assertion_kit import PROGRAMS, build

SOURCE = PROGRAMS / "original.c"


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="session", params=["cc", "c++"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    flags = ["-Wall", "-Werror"] if request.param == "cc" else ["-x", "c++", "-fpermissive", "-Wno-write-strings"]
    folder = tmp_path_factory.mktemp("original")
    source = folder / "original.c"
    source.write_text(SOURCE.read_text())
    if request.param == "cc":
        return str(build(SOURCE, folder, *flags))
    wrapper = folder / "original.cc"
    wrapper.write_text(SOURCE.read_text())
    return str(build(wrapper, folder, *flags[2:], compiler="c++"))


def test_clean_program_gives_no_finding(program: str) -> None:
    """What it records before the start, after the end and outside of scopes is nothing, as in the original."""
    checked = powercut.check_program([program])
    assert (checked.findings, checked.code) == ([], 0)
    assert checked.operations > 50
    alone = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    assert (alone.stdout, alone.stderr) == ("", "")


def test_wrong_lines_are_found_and_nothing_else(program: str) -> None:
    checked = powercut.check_program([program, "wrong"])
    assert {(f.pattern, f.why, f.locations[0].line): f.count for f in checked.findings} == {
        ("incomplete-transaction", "not-flushed", line_of("/* wrong when it does not flush */")): 1,
        ("wrong-use", "checker-start-without-end", line_of("/* never ended */")): 3,
    }


def test_same_program_is_tracked_automatically(tmp_path: Path) -> None:
    target = tmp_path / "original"
    assert compile_tracked(find_compiler("cc"), [str(SOURCE), "-o", str(target)]) == 0
    assert powercut.check_program([str(target)]).findings == []

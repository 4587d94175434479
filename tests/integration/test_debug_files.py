"""Lines are the same wherever the debug information is: in the program, compressed, beside it, split, or shared."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from powercut.trace.debug_file import debug_file
from powercut.trace.demangle import demangled
from powercut.trace.elf import Elf
from powercut.trace.lines import line_reader
from powercut.trace.symbols import Frame, Symbolizer

from .test_lines_like_gdb import SOURCES, calls

pytestmark = pytest.mark.skipif(line_reader() is None, reason="powercut was built without libdw")


def run(*command: object) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def build(program: Path, *flags: str, compiler: str = "gcc") -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    run(compiler, "-O2", "-g", *flags, SOURCES / "inlined.c", "-o", program)
    return program


def named(
    program: Path, addresses: list[int] | None = None
) -> list[list[tuple[str, str | None, int | None, int | None]]]:
    """Functions and places of all calls of a program, or of other addresses."""
    found = Symbolizer().resolve((str(program), address) for address in addresses or calls(program))
    return [[(f.function, f.file, f.line, f.column) for f in frames] for frames in found.values()]


def take_apart(program: Path, debug: Path) -> None:
    """As distributions do it."""
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    run("objcopy", f"--add-gnu-debuglink={debug}", program)


@pytest.fixture
def whole(tmp_path: Path) -> list[list[tuple[str, str | None, int | None, int | None]]]:
    told = named(build(tmp_path / "whole"))
    assert sum(len(frames) > 1 for frames in told) > 10 and sum(line is not None for [*_, (_, _, line, _)] in told) > 60
    return told


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [["-gz"], ["-gsplit-dwarf"], ["-gsplit-dwarf", "-gdwarf-4"]])
def test_compressed_or_split(compiler: str, flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where .dwo files are put
    version = [flag for flag in flags if flag.startswith("-gdwarf")]
    expected = named(build(tmp_path / "expected", *version, compiler=compiler))
    assert named(build(tmp_path / "other", *flags, compiler=compiler)) == expected


@pytest.mark.parametrize("where", [".", ".debug"])
def test_beside_the_program(where: str, whole: object, tmp_path: Path) -> None:
    program, debug = build(tmp_path / "program"), tmp_path / where / "program.debug"
    debug.parent.mkdir(exist_ok=True)
    addresses = calls(program)
    take_apart(program, debug)
    assert named(program, addresses) == whole
    debug.write_bytes(debug.read_bytes()[:-1000])  # and if it is damaged
    assert named(program, addresses)


def test_of_another_build(tmp_path: Path) -> None:
    """Which would give wrong lines."""
    program = build(tmp_path / "program")
    take_apart(program, tmp_path / "program.debug")
    shutil.copy(build(tmp_path / "other", "-O1"), tmp_path / "program.debug")
    assert {line for frames in named(program) for _, _, line, _ in frames} == {None}


@pytest.mark.parametrize("build_id", ["none", "sha1"])
def test_a_link_is_believed_by_its_checksum(build_id: str, tmp_path: Path) -> None:
    program, debug = build(tmp_path / "program", f"-Wl,--build-id={build_id}"), tmp_path / "program.debug"
    take_apart(program, debug)
    with open(program, "rb") as stream:
        assert debug_file(str(program), Elf(stream)) == str(debug)
        debug.write_bytes(build(tmp_path / "other", "-O1", f"-Wl,--build-id={build_id}").read_bytes())
        assert debug_file(str(program), Elf(stream)) is None


def test_by_its_build_id(tmp_path: Path) -> None:
    program = build(tmp_path / "program")
    with open(program, "rb") as stream:
        build_id = Elf(stream).build_id()
    debug = tmp_path / "root" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    take_apart(program, debug)
    with open(program, "rb") as stream:
        assert debug_file(str(program), Elf(stream), str(tmp_path / "root")) == str(debug)


@pytest.mark.skipif(shutil.which("dwz") is None, reason="needs dwz")
def test_shared_by_two_programs(whole: object, tmp_path: Path) -> None:
    program, other = build(tmp_path / "program", "-gdwarf-4"), build(tmp_path / "other", "-gdwarf-4", "-O1")
    expected = named(program)
    run("dwz", "-m", tmp_path / "common.debug", program, other)
    assert (tmp_path / "common.debug").exists()
    assert named(program) == expected


def test_damage_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    program = build(tmp_path / "program")
    content, addresses = program.read_bytes(), calls(program)
    start = len(content) // 4
    for at in range(start, len(content) - 64, len(content) // 60):
        program.write_bytes(content[:at] + b"\xff" * 48 + content[at + 48 :])
        found = Symbolizer().resolve((str(program), address) for address in addresses)
        assert all(isinstance(frame, Frame) for frames in found.values() for frame in frames)


def test_names_are_those_that_people_write(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["main", "", "_ZN5store4saveERKi", "_ZL3puti", "_Zbroken", "_Z1fSs", "_RNvC6_123foo3bar"]
    told = ["main", "", "store::save(int const&)", "put(int)", "_Zbroken", "f(std::string)"]
    if shutil.which("c++filt"):
        assert demangled(names) == [*told, "123foo::bar"]
    monkeypatch.setenv("PATH", "")
    assert demangled(names)[:2] == ["main", ""]
    if demangled(names) != names:  # the C++ library is there
        assert demangled(names) == [*told, "_RNvC6_123foo3bar"]

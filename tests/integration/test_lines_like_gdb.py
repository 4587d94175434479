"""Functions, files and lines are those that gdb names: of calls in header-only C++ and inlined C, at every level of
optimization, in DWARF 4 and 5, by gcc and by clang.

All functions, all files, and the lines of all calls of inlined functions are equal. The line of the innermost one is
equal, too, except where gdb does not answer what the line table says:

- Several rows at one address: all but the last are empty, so the last holds for the instruction. gdb prefers one at
  which a statement begins, to have a place for breakpoints: of a call of `operator delete` it names the line on which
  the function around it begins.
- Line 0, of code that the compiler made of several lines: gdb names the line before, which can be one of another file.

There the test reads the table with pyelftools, which knows nothing of libdw: it must have what powercut says.
"""

from __future__ import annotations

import bisect
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import pytest
from elftools.dwarf.constants import DW_LNE_set_address
from elftools.elf.elffile import ELFFile

from powercut.trace.demangle import demangled, is_mangled
from powercut.trace.lines import line_reader
from powercut.trace.symbols import Frame, Symbolizer

HERE = Path(__file__).parent
SOURCES = HERE / "line_programs"
CALL = re.compile(r"\s+[0-9a-f]+:\tcall.*")
ENOUGH = 2000
"""Addresses, of both compilers together."""

Row = tuple[str, int, bool]
"""File, line, and whether a statement begins."""

pytestmark = pytest.mark.skipif(line_reader() is None, reason="powercut was built without libdw")


def compiler_found(name: str) -> object:
    missing = [tool for tool in (name, "gdb", "objdump") if shutil.which(tool) is None]
    return pytest.param(name, marks=pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}"))


def build(compiler: str, folder: Path) -> list[Path]:
    """Every program, built in every way; a part of the C++ ones always in the same way, so that versions mix."""
    plus = {"gcc": "g++", "clang": "clang++"}[compiler]
    other = folder / "other.o"
    run([plus, "-std=c++17", "-gdwarf-4", "-O1", "-c", str(SOURCES / "other.cpp"), "-o", str(other)])
    programs, commands = [], []
    for level, version in product(range(4), (4, 5)):
        flags = [f"-gdwarf-{version}", f"-O{level}"]
        c, cpp = folder / f"inlined-O{level}-{version}", folder / f"headers-O{level}-{version}"
        commands.append([compiler, *flags, str(SOURCES / "inlined.c"), "-o", str(c)])
        commands.append([plus, "-std=c++17", *flags, str(SOURCES / "headers.cpp"), str(other), "-o", str(cpp)])
        programs += [c, cpp]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))
    return programs


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def calls(program: Path) -> list[int]:
    """Where the callers of functions are, as a stack is unwound: the byte before each return address."""
    lines = run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", str(program)]).splitlines()
    return [int(after.partition(":")[0], 16) - 1 for call, after in pairwise(lines) if CALL.match(call) and after]


def ask_gdb(asked: dict[str, list[int]], folder: Path) -> dict[str, list[list[list[object]]]]:
    """For each address whether the function has a linker's name, its name, file and line, of all functions there."""
    path = folder / "asked.json"
    path.write_text(json.dumps(asked))
    options = ["-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", f'set $asked = "{path}"']
    run(["gdb", *options, "-x", str(HERE / "gdb_lines.py")])
    answers: dict[str, list[list[list[object]]]] = json.loads(Path(f"{path}.answers").read_text())
    frames = [frame for stacks in answers.values() for stack in stacks for frame in stack]
    for frame, name in zip(frames, demangled([str(frame[0]) for frame in frames]), strict=True):
        linked = is_mangled(str(frame[0]))
        frame[0], frame[1] = (linked or None, name if linked else frame[1])
    return answers


@cache
def table(program: str) -> tuple[list[int], list[list[Row]]]:
    """The line table as pyelftools reads it: addresses, and all rows at each of them."""
    rows: dict[int, list[Row]] = {}
    with open(program, "rb") as stream:
        debug = ELFFile(stream).get_dwarf_info()
        for unit in debug.iter_CUs():
            lines = debug.line_program_for_CU(unit)
            for address, row in sequences(lines, unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode()):
                rows.setdefault(address, []).append(row)
    addresses = sorted(rows)
    return addresses, [rows[address] for address in addresses]


def sequences(lines: object, home: str) -> Iterator[tuple[int, Row]]:
    newer = lines["version"] >= 5
    named = [folder.decode() for folder in lines["include_directory"]]
    folders = [os.path.join(home, folder) for folder in (named if newer else ["", *named])]
    files = lines["file_entry"]
    dead = True
    for entry in lines.get_entries():
        state = entry.state
        if entry.is_extended and entry.command == DW_LNE_set_address:
            dead = entry.args[0] == 0  # the linker left this code out
        elif state is None:
            continue
        elif not dead and not state.end_sequence:
            file = files[state.file - (0 if newer else 1)]
            name = os.path.join(folders[file.dir_index], file.name.decode())
            yield state.address, (os.path.normpath(name), state.line, bool(state.is_stmt))


def rows_at(program: str, address: int) -> list[Row]:
    addresses, rows = table(program)
    return rows[bisect.bisect_right(addresses, address) - 1]


def same_function(frame: Frame, name: str, linked: bool) -> bool:
    """gdb makes names of functions that no other file sees from their types, where debug information has a bare one."""
    return frame.function == name or (not linked and bare(frame.function) == bare(name))


def bare(name: str) -> str:
    return name.replace("(anonymous namespace)", "").partition("(")[0].rpartition("::")[2]


def compare(program: str, address: int, frames: tuple[Frame, ...], told: list[list[object]]) -> str:
    """Whether both name the same: "equal", or why the innermost line differs; fails if it should not."""
    where = f"{program} {address:#x}: {frames} {told}"
    assert len(frames) == len(told), where
    for frame, (linked, name, *_) in zip(frames, told, strict=True):
        assert same_function(frame, str(name), linked is not None), where
    ours = [(frame.file, frame.line or 0) for frame in frames]
    theirs = [(file and os.path.normpath(str(file)), line) for _, _, file, line in told]
    assert ours[1:] == theirs[1:], where
    if ours[0] == theirs[0]:
        return "equal"
    rows = rows_at(program, address)
    file, line, _ = rows[-1]
    assert ours[0] == ((file, line) if line else (None, 0)), f"{where}\n{rows}"
    if not line:
        return "no line"
    assert (*theirs[0], True) in rows[:-1], f"{where}\n{rows}"
    return "a later row"


@pytest.mark.parametrize("compiler", [compiler_found("gcc"), compiler_found("clang")])
def test_lines_are_those_of_gdb(compiler: str, tmp_path: Path) -> None:
    asked = {str(program): calls(program) for program in build(compiler, tmp_path)}
    answers = ask_gdb(asked, tmp_path)

    seen: Counter[str] = Counter()
    for program, addresses in asked.items():
        frames = Symbolizer().resolve((program, address) for address in addresses)
        for address, told in zip(addresses, answers[program], strict=True):
            if told:  # the start of a program has no debug information
                seen[compare(program, address, frames[program, address], told)] += 1

    print(f"{compiler}: {dict(seen)}")
    assert seen["equal"] > ENOUGH / 2
    assert seen["equal"] > 0.9 * seen.total()


def test_a_function_of_a_header_is_there(tmp_path: Path) -> None:
    """With which binutils' addr2line names the file that includes it."""
    (tmp_path / "tree.h").write_text(
        "#include <unistd.h>\n\nstatic inline int put(int fd)\n{\n    return fsync(fd);\n}\n"
    )
    source, program = tmp_path / "prog.c", tmp_path / "prog"
    source.write_text('#include "tree.h"\n\nint main(void)\n{\n    return put(1) + put(2);\n}\n')
    run(["gcc", "-g", "-O0", str(source), "-o", str(program)])
    found = Symbolizer().resolve((str(program), address) for address in calls(program)).values()
    places = {(frames[0].function, Path(frames[0].file or "").name, frames[0].line) for frames in found}
    assert {("put", "tree.h", 5), ("main", "prog.c", 5)} <= places
    columns = sorted(frames[0].column or 0 for frames in found if frames[0].function == "main")
    assert columns[-2:] == [12, 21]  # two calls in one line

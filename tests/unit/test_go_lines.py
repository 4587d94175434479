"""The table of lines in Go programs: a damaged one, as any input, gives no lines and no crash."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from powercut.trace.elf import Elf, ElfError
from powercut.trace.go_lines import GoLines
from powercut.trace.symbol_table import SymbolTable

SOURCE = """\
package main

import "os"

func inner() { os.Remove("gone") }

func outer() {
	inner()
}

func main() { outer() }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A program of Go with and without its symbols."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    here = tmp_path_factory.mktemp("go")
    (here / "main.go").write_text(SOURCE)
    environment = {**os.environ, "HOME": str(here), "GO111MODULE": "off"}
    for name, flags in (("full", ""), ("stripped", "-s -w")):
        subprocess.run(["go", "build", "-ldflags", flags, "-o", name, "main.go"], cwd=here, env=environment, check=True)
    return (here / "full").read_bytes(), (here / "stripped").read_bytes()


def test_inlined_calls_are_frames_of_their_own(program: tuple[bytes, bytes]) -> None:
    full, stripped = (Elf(io.BytesIO(data)) for data in program)
    table, lines = SymbolTable(full), GoLines(stripped)
    (start,) = (address for address, (_, name) in table._found.items() if name == "main.main")
    size, _ = table._found[start]
    found = [lines.lines([address])[address] for address in range(start, start + size)]
    called = [tuple((line.function, line.line) for line in frames) for frames in found]
    assert (("main.inner", 5), ("main.outer", 8), ("main.main", 11)) in called
    assert all(Path(line.file or "").is_absolute() for frames in found for line in frames if line.line)


def test_damaged_tables_give_no_lines(program: tuple[bytes, bytes]) -> None:
    _, stripped = program
    section = next(s for s in Elf(io.BytesIO(stripped)).sections if s.name == ".gopclntab")
    chance = random.Random(1)
    for _ in range(60):
        data = bytearray(stripped)
        for _ in range(chance.choice((1, 8, 200))):
            at = section.offset + chance.randrange(chance.choice((8, 80, section.size)))
            data[at] = chance.randrange(256)
        try:
            GoLines(Elf(io.BytesIO(bytes(data)))).lines(range(0x401000, 0x481000, 997))
        except ElfError:
            continue


def test_other_programs_have_no_such_table() -> None:
    with open("/bin/true", "rb") as stream, pytest.raises(ElfError):
        GoLines(Elf(stream))

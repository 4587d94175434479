"""The functions of an ELF file are those that pyelftools reads, one by one; damage is an error that is known."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from powercut import _engine
from powercut.trace.elf import Elf, ElfError
from powercut.trace.symbol_table import SymbolTable

FUNCTIONS = ("STT_FUNC", "STT_NOTYPE", "STT_GNU_IFUNC", "STT_LOOS")


def c_library() -> str:
    mapped = Path("/proc/self/maps").read_text().split()
    return next(path for path in mapped if path.endswith(("/libc.so.6", "/ld-linux-x86-64.so.2")))


@pytest.fixture(params=["of the C library", "of the engine", "of Python", "of 32 bits"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param != "of 32 bits":
        return {"of the C library": c_library(), "of the engine": _engine.__file__, "of Python": sys.executable}[
            request.param
        ]
    source, wide, narrow = tmp_path / "one.c", tmp_path / "wide.o", tmp_path / "narrow.o"
    source.write_text("int one(void) { return 1; } int two(int n) { return n + one(); }\n")
    subprocess.run(["gcc", "-c", "-o", wide, source], check=True)
    subprocess.run(["objcopy", "-O", "elf32-i386", wide, narrow], check=True)
    return str(narrow)


def test_every_function_has_the_name_that_pyelftools_gives_it(path: str) -> None:
    with open(path, "rb") as stream:
        elf = ELFFile(stream)
        table, named = SymbolTable(Elf(stream)), 0
        largest: dict[int, tuple[int, str]] = {}
        for section in elf.iter_sections():
            for symbol in section.iter_symbols() if isinstance(section, SymbolTableSection) else ():
                entry = symbol.entry
                if entry["st_info"]["type"] in FUNCTIONS and entry["st_shndx"] != "SHN_UNDEF" and symbol.name:
                    known = largest.get(entry["st_value"])
                    if known is None or known[0] < entry["st_size"]:
                        largest[entry["st_value"]] = (entry["st_size"], symbol.name)
        for address, (size, name) in largest.items():
            assert table.name(address) == name
            assert table.name(address + max(size, 1) - 1) is not None
            named += 1
    assert named or path == sys.executable


def test_sections_and_the_build_id_are_those_that_pyelftools_reads(path: str) -> None:
    with open(path, "rb") as stream:
        elf, mine = ELFFile(stream), Elf(stream)
        sections = list(elf.iter_sections())
        assert [section.name for section in mine.sections] == [section.name for section in sections]
        assert [mine.data(section) for section in mine.sections if section.type in (2, 3, 7, 11)] == [
            section.data()
            for section in sections
            if section["sh_type"] in ("SHT_SYMTAB", "SHT_STRTAB", "SHT_NOTE", "SHT_DYNSYM")
        ]
        notes = [note for section in sections if isinstance(section, NoteSection) for note in section.iter_notes()]
        ids = [note["n_desc"] for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"]
        assert mine.build_id() == "".join(ids[:1])


def test_damaged_files_give_an_error_that_is_known_or_other_names() -> None:
    whole = Path(_engine.__file__).read_bytes()
    for seed in range(60):
        damaged = bytearray(whole)
        for at in range(seed, len(damaged), 997):  # primes: other bytes of other records each time
            damaged[at] ^= 0x5A
        damaged[:64] = whole[:64]
        with suppress(ElfError):
            opened = Elf(io.BytesIO(damaged))
            opened.build_id()
            SymbolTable(opened).name(0x2000)


def test_files_that_are_cut_short_are_errors() -> None:
    whole = Path(_engine.__file__).read_bytes()
    for size in (*range(0, 128, 9), len(whole) // 2, len(whole) - 1):
        with pytest.raises(ElfError):
            Elf(io.BytesIO(whole[:size]))

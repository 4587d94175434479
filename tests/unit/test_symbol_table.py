"""The functions of an ELF file are those that pyelftools reads, one by one; damage is one of the errors it raises."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from powercut import _engine
from powercut.trace.symbol_table import SymbolTable

FUNCTIONS = ("STT_FUNC", "STT_NOTYPE", "STT_GNU_IFUNC", "STT_LOOS")


def c_library() -> str:
    mapped = Path("/proc/self/maps").read_text().split()
    return next(path for path in mapped if path.endswith(("/libc.so.6", "/ld-linux-x86-64.so.2")))


@pytest.mark.parametrize("path", [c_library(), _engine.__file__, sys.executable])
def test_every_function_has_the_name_that_pyelftools_gives_it(path: str) -> None:
    with open(path, "rb") as stream:
        elf = ELFFile(stream)
        table, named = SymbolTable(elf), 0
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


def test_damaged_files_give_errors_that_are_known_or_other_names() -> None:
    whole = Path(_engine.__file__).read_bytes()
    for seed in range(60):
        damaged = bytearray(whole)
        for at in range(seed, len(damaged), 997):  # primes: other bytes of other records each time
            damaged[at] ^= 0x5A
        damaged[:64] = whole[:64]
        try:
            SymbolTable(ELFFile(io.BytesIO(damaged))).name(0x2000)
        except (ELFError, ValueError, KeyError, AttributeError, OSError):
            continue

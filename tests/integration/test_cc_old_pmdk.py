"""`powercut cc` with a libpmemobj as old versions were: inline functions, and functions that enter each other."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import powercut
from powercut.assertions.compile import compile_tracked, find_compiler

PROGRAMS = Path(__file__).resolve().parents[1] / "cc_programs"
SOURCE = PROGRAMS / "old_pmdk_program.c"


@pytest.mark.parametrize("library", [["-O0"], ["-O2"], ["-O2", "-fno-plt"]])
@pytest.mark.parametrize("program", [["-O0"], ["-O2"]])
def test_only_what_fails_is_found(library: list[str], program: list[str], tmp_path: Path) -> None:
    built = tmp_path / "libpmemobj.so.1"
    shared = ["-fPIC", "-shared", f"-Wl,-soname,{built.name}", str(PROGRAMS / "old_pmdk.c"), "-o", str(built)]
    subprocess.run(["cc", *library, *shared], check=True)
    words = [*program, "-g", str(SOURCE), str(built), f"-Wl,-rpath,{tmp_path}", "-o", str(tmp_path / "program")]
    assert compile_tracked(find_compiler("cc"), words) == 0
    checked = powercut.check_program([str(tmp_path / "program"), str(tmp_path / "pool")])
    assert (checked.code, checked.signal) == (0, 0)
    expected = {
        (number, kind)
        for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
        for kind in re.findall(r"/\* FAIL ([a-z-]+)", line)
    }
    assert {(finding.locations[0].line, finding.pattern) for finding in checked.findings} == expected

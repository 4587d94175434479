"""Lint blames the program for what it flushes through functions of PMDK that leave no frame, however it calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from powercut.native_programs import why_no_memory_tool

POWERCUT = Path(sys.executable).with_name("powercut")
pytestmark = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")
PROGRAMS = Path(__file__).resolve().parents[1] / "lint_programs"
SOURCE = PROGRAMS / "jumping_program.c"
PMDK_PROGRAM = """\
#include <libpmemobj.h>
struct root { unsigned long a[64]; };
int main(int count, char **words) {
    PMEMobjpool *pool = pmemobj_create(words[1], "x", PMEMOBJ_MIN_POOL, 0666);
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof(struct root)));
    for (int i = 0; i < 10; i++) {
        root->a[8] = i + 1;
        pmemobj_persist(pool, &root->a[8], 8);
        pmemobj_persist(pool, &root->a[8], 8); /* again */
    }
    pmemobj_close(pool);
    return 0;
}
"""


def lines_of(text: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(text.splitlines(), 1) if mark in line}


def blamed(program: Path, folder: Path) -> set[tuple[str, int]]:
    """Pattern and line of each finding of a run."""
    data, trace = folder / "data", folder / "trace"
    data.mkdir()
    command = [POWERCUT, "record", "--tracer", "memory", "-o", trace, "--dir", data, "--", program, data / "pool"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=120)
    done = subprocess.run([POWERCUT, "lint", "--json", "-", trace], capture_output=True, text=True, timeout=60)
    return {(found["pattern"], found["locations"][0]["line"]) for found in json.loads(done.stdout)["misuses"]}


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-fno-plt"], ["-O2", "-no-pie", "-fcf-protection=full"]])
def test_functions_that_jump_are_seen_through(flags: list[str], tmp_path: Path) -> None:
    library = tmp_path / "libpmemobj.so.1"
    jumping = ["-O2", "-fPIC", "-shared", "-foptimize-sibling-calls", str(PROGRAMS / "jumping_library.c")]
    subprocess.run(["cc", *jumping, "-o", str(library)], check=True)
    subprocess.run(["strip", str(library)], check=True)
    program = tmp_path / "program"
    linked = [str(SOURCE), str(library), f"-Wl,-rpath,{tmp_path}", "-o", str(program)]
    subprocess.run(["cc", "-g", *flags, *linked], check=True)
    expected = {("redundant-flush", line) for line in lines_of(SOURCE.read_text(), "/* again")}
    assert blamed(program, tmp_path) == expected


def test_second_persist_of_pmdk_is_found(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PMDK_PROGRAM)
    built = subprocess.run(
        ["cc", "-g", "-O1", str(source), "-o", str(tmp_path / "program"), "-lpmemobj"], check=False, capture_output=True
    )
    if built.returncode != 0:
        pytest.skip("libpmemobj-dev is not installed")
    assert blamed(tmp_path / "program", tmp_path) == {
        ("redundant-flush", line) for line in lines_of(PMDK_PROGRAM, "/* again */")
    }

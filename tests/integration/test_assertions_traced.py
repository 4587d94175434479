"""One annotated program serves both: under the memory tracer a plain build gives the findings of one that records."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import powercut
from powercut.assertions.build import compiler_flags, linker_flags
from powercut.errors import UsageError
from powercut.native_programs import why_no_memory_tool
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from tests.assertion_kit import PROGRAMS, found, marks

pytestmark = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")
POWERCUT = Path(sys.executable).with_name("powercut")
STORES = Path(__file__).resolve().parents[1] / "cc_programs" / "stores.c"
ORDERED = """
#include <fcntl.h>
#include <immintrin.h>
#include <powercut.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    int file = open("data/pool", O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, 4096)) return 1;
    long *p = mmap(0, 4096, PROT_WRITE, MAP_SHARED, file, 0);
    pc_init();
    p[8] = 1;
    pc_start();
    p[0] = 1; pc_write(p, 8);
    _mm_clflush(p); pc_flush(p, 8);
    p[16] = 1; pc_write(p + 16, 8);
    pc_is_ordered_before(p, 8, p + 16, 8); /* FAIL not-ordered */
    pc_is_persistent(p + 8, 8); /* it was written before pc_start */
    pc_tx_begin();
    pc_tx_add(p, 8);
    p[24] = 1; /* FAIL missing-backup */
    pc_tx_end();
    pc_end();
    pc_exit();
}
"""


def recorded(source: Path, folder: Path, *words: str) -> Path:
    program, trace = folder / "program", folder / "trace"
    (folder / "data").mkdir()
    command = ["gcc", "-g", "-O1", "-w", *compiler_flags(), str(source), "-o", str(program), *linker_flags()]
    subprocess.run(command, check=True)
    record = [POWERCUT, "record", "--tracer", "memory", "-o", trace, "--dir", "data", "--", program, *words]
    subprocess.run(list(map(str, record)), cwd=folder, check=True, capture_output=True, timeout=60)
    return trace


def test_every_store_flush_and_fence_is_judged_from_the_trace(tmp_path: Path) -> None:
    trace = recorded(STORES, tmp_path, "data/pool")
    checked = powercut.check_trace(trace)
    lines = STORES.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if re.match(r" *LOST\(", line)}
    assert {finding.locations[0].line for finding in checked.failures} == expected
    assert not powercut.check_trace(trace, "eadr").failures or all(
        finding.why == "not-fenced" for finding in powercut.check_trace(trace, "eadr").failures
    )


def test_order_transactions_and_the_start_count_and_nothing_is_told_twice(tmp_path: Path) -> None:
    source = tmp_path / "ordered.c"
    source.write_text(ORDERED)
    checked = powercut.check_trace(recorded(source, tmp_path))
    expected = {
        (number, kind)
        for number, line in enumerate(ORDERED.splitlines(), 1)
        for kind in re.findall(r"FAIL ([a-z-]+)", line)
    }
    assert {(finding.locations[0].line, finding.pattern) for finding in checked.findings} == expected


def test_trace_without_assertions_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    trace = recorded(source, tmp_path)
    assert not len(Trace.open(trace).of_kind(Kind.ASSERTION))
    with pytest.raises(UsageError, match="no-assertions"):
        powercut.check_trace(trace)


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    trace = recorded(PROGRAMS / "figures.c", tmp_path, "figure_4")  # its memory is no file
    assert marks("figures", "figure_4")
    checked = powercut.check_trace(trace)
    assert found(checked) == set()
    assert any("are not checked" in note for note in checked.notes)

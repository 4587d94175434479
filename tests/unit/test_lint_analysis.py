"""From sightings to misuses: whose line it is, what is one root cause, and ids that stay."""

from __future__ import annotations

import dataclasses
import re
import struct
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

from powercut.findings.finding import Finding, FindingKind, Fix, Location, SavedState, StackFrame
from powercut.findings.identity import identify
from powercut.lint.analysis import Analysis, analyse, confirm
from powercut.lint.libraries import StackRoles
from powercut.lint.patterns import PATTERNS
from powercut.model.memory import AUTO, EADR
from powercut.report.finding_text import explain
from powercut.report.lint import lint_document, lint_text, section
from powercut.trace.layout import FRAME, Fence, Flush, Kind, MemoryKind, TableKind
from powercut.trace.writer import TraceWriter

PROGRAM = """\
def persist(pool):
    flush(pool)
    fence()

def fill(pool):
    pool.number = 1
    pool.other = 2
    persist(pool)
    persist(pool)

def clear(pool):
    pool.number = 0
    persist(pool)
    persist(pool)

fill(pool)
clear(pool)
"""


class Program:
    """Call stacks of a Python program that stands in a file."""

    def __init__(self, writer: TraceWriter, path: Path, source: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        self.writer = writer
        self.source = source.splitlines()
        module = compile(source, str(path), "exec")
        self.codes = {"<module>": module} | {c.co_name: c for c in module.co_consts if isinstance(c, CodeType)}
        self.numbers = {name: writer.entry(TableKind.PYCODE, entry(code)) for name, code in self.codes.items()}

    def stack(self, *places: tuple[str, int]) -> int:
        """A stack of (function, line), innermost first."""
        frames = [(2, self.numbers[name], self.offset(name, line)) for name, line in places]
        return self.writer.entry(TableKind.STACK, np.array(frames, FRAME).tobytes())

    def offset(self, name: str, line: int) -> int:
        return next(start for start, _, number in self.codes[name].co_lines() if number == line)

    def line(self, text: str, nth: int = 0) -> int:
        return [number for number, line in enumerate(self.source, 1) if line.strip() == text][nth]


def entry(code: CodeType) -> bytes:
    names = [code.co_filename.encode(), code.co_qualname.encode(), code.co_linetable]
    return struct.pack("<6I", 0x030B, code.co_firstlineno, *map(len, names), 0) + b"".join(names)


def analysed(path: Path, source: str = PROGRAM) -> Analysis:
    """fill and clear, each with one flush and fence too many."""
    writer = TraceWriter()
    program = Program(writer, path, source)
    writer.meta("tracer", b"grind 1")
    writer.event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
    writer.event(Kind.SNAP_FILE, path=b"pool", inode=7, length=64, extra=0o100644)
    records = [(7, 0, 0, 1, MemoryKind.FILE, 0)]
    for nth, (name, stored) in enumerate((("fill", "pool.number = 1"), ("clear", "pool.number = 0"))):
        caller = ("<module>", program.line(f"{name}(pool)"))
        store = program.stack((name, program.line(stored)), caller)
        records.append((7 + nth, 0, store, 1, MemoryKind.STORE, 8))
        for call in range(2):
            where = (name, program.line("persist(pool)", 2 * nth + call))
            flush = program.stack(("persist", program.line("flush(pool)")), where, caller)
            fence = program.stack(("persist", program.line("fence()")), where, caller)
            records.append((0, 0, flush, 1, MemoryKind.FLUSH, Flush.CLWB))
            records.append((0, 0, fence, 0, MemoryKind.FENCE, Fence.SFENCE))
    writer.memory(records)
    return analyse(writer.trace(), AUTO)


def test_the_caller_of_a_helper_is_blamed_each_for_itself(tmp_path: Path) -> None:
    found = analysed(tmp_path / "store.py")
    places = [(m.pattern, m.why, m.locations[0].function, m.locations[0].line) for m in found.misuses]
    assert sorted(places) == [
        ("redundant-flush", "flushed", "clear", 14),
        ("redundant-flush", "flushed", "fill", 9),
    ]
    (misuse, _) = sorted(found.misuses, key=lambda m: m.locations[0].line or 0)
    assert [line.split(" at ")[0] for line in misuse.locations[0].stack] == ["persist", "fill", "<module>"]
    assert (misuse.locations[1].function, misuse.locations[1].line) == ("fill", 8)
    assert (misuse.count, misuse.executed, misuse.files) == (1, 1, ["pool"])


def ids(found: Analysis) -> dict[str, str]:
    return {str(misuse.locations[0].function): misuse.id for misuse in found.misuses}


def test_ids_survive_lines_that_move(tmp_path: Path) -> None:
    before = ids(analysed(tmp_path / "a" / "store.py"))
    moved = PROGRAM.replace("def fill", '"""A comment."""\nlimit = 5\n\n\ndef fill').replace("    pool.other = 2\n", "")
    assert ids(analysed(tmp_path / "b" / "store.py", moved)) == before
    assert len(set(before.values())) == 2


def test_ids_change_with_the_line_itself(tmp_path: Path) -> None:
    before = ids(analysed(tmp_path / "a" / "store.py"))
    renamed = ids(analysed(tmp_path / "c" / "other.py"))
    assert not set(before.values()) & set(renamed.values())


def place(line: int, file: Path | str = "gone.c", function: str = "f") -> Location:
    return Location(str(file), line, function, "lost")


def test_without_its_source_a_line_is_its_number() -> None:
    assert identify("k", [place(3)]) != identify("k", [place(4)])
    assert identify("k", [place(3)]) == identify("k", [place(3, "elsewhere/gone.c")])


C_PROGRAM = """\
static int put(int key);

static int put(int key) {
    sync();
    if (key)
        put(key - 1);
    sync();
}

int get(void) {
    sync();
}
"""


def test_equal_lines_are_told_apart(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(C_PROGRAM)
    first, second, other = (identify("k", [place(n, source, f)]) for n, f in ((4, "put"), (7, "put"), (11, "get")))
    assert len({first, second, other}) == 3
    (tmp_path / "b").mkdir()
    later = tmp_path / "b" / "a.c"
    later.write_text(
        C_PROGRAM.replace("static int put(int key) {", "int new(void) {\n    sync();\n}\n\nstatic int put(int key) {")
    )
    assert identify("k", [place(8, later, "put")]) == first
    assert identify("k", [place(11, later, "put")]) == second
    assert identify("k", [place(15, later, "get")]) == other


def test_a_line_beyond_the_end_of_the_source_is_its_number(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("one line\n")
    assert identify("k", [place(7, tmp_path / "a.c")]) == identify("k", [place(7, "gone/a.c")])


def test_a_finding_confirms_a_misuse_of_the_same_line(tmp_path: Path) -> None:
    found = analysed(tmp_path / "store.py")
    misuse = found.misuses[0]
    lost = Location(misuse.locations[0].file, misuse.locations[0].line, "fill", "lost")
    state = SavedState("xfs", 4096, 2, "issued", (0,))
    texts = {"outcome": "fail", "code": 1, "output": ""}
    finding = Finding(FindingKind.ORDERING, "m", [lost], Fix("t", True), [], [], state, id="abcd", **texts)
    confirm(found.misuses, [finding])
    assert misuse.finding is None  # it costs time, no data
    misuse.harm = "durability"
    confirm(found.misuses, [finding])
    assert misuse.finding == "abcd"
    assert "confirmed by finding abcd" in lint_text(found, AUTO)


def test_of_several_findings_the_one_with_more_of_the_lines_confirms(tmp_path: Path) -> None:
    found = analysed(tmp_path / "store.py")
    misuse = found.misuses[0]
    misuse.harm = "durability"
    misuse.locations = [place(3, tmp_path / "store.py"), place(5, tmp_path / "store.py")]
    file = misuse.locations[0].file
    state, texts = SavedState("xfs", 4096, 2, "issued", (0,)), {"outcome": "fail", "code": 1, "output": ""}

    def finding(name: str, *lines: int) -> Finding:
        places = [Location(file, line, "fill", "lost" if line == 3 else "survived") for line in lines]
        return Finding(FindingKind.ORDERING, "m", places, Fix("t", True), [], [], state, id=name, **texts)

    both, one, apart = finding("both", 3, 5), finding("one", 3, 9), finding("apart", 5)
    for several in ([one, both, apart], [both, one], [apart, both, one]):
        confirm(found.misuses, several)
        assert misuse.finding == "both"
    confirm(found.misuses, [apart])
    assert misuse.finding is None  # nothing is lost there


def test_what_was_compiled_without_lines_says_how_to_get_them(tmp_path: Path) -> None:
    found = analysed(tmp_path / "store.py")
    known, unknown = (
        "compile the program with -g",
        Location(None, None, "put", "stored", frames=(StackFrame("put", module="/app"),)),
    )
    assert known not in lint_text(found, AUTO)
    found.misuses[0].locations = [unknown]
    assert lint_text(found, AUTO).count(known) == 1
    found.misuses[0].locations = [unknown, place(3, tmp_path / "store.py")]
    assert known not in lint_text(found, AUTO)
    found.misuses[0].locations = [Location(None, None, "address 0x0", "stored")]  # nothing to be compiled
    assert known not in lint_text(found, AUTO)
    state, texts = SavedState("xfs", 4096, 2, "issued", (0,)), {"outcome": "fail", "code": 1, "output": ""}
    finding = Finding(FindingKind.ORDERING, "m", [unknown], Fix("t", True), [], [], state, id="abcd", **texts)
    assert explain(finding).count(known) == 1


def test_head_says_how_many_bugs_are_not_tested(tmp_path: Path) -> None:
    misuses = analysed(tmp_path / "store.py").misuses[:1] * 2
    misuses = [dataclasses.replace(misuse, severity="bug") for misuse in misuses]
    heads = []
    for confirmed in range(3):
        for number, misuse in enumerate(misuses):
            misuse.finding = "abcd" if number < confirmed else None
        heads.append(section(misuses, "RUN/trace").partition("(")[2].partition(")")[0])
    does_not = "does not change the exit code"
    assert heads == [f"not tested; {does_not}", f"1 of 2 not tested; {does_not}", does_not]


def test_nothing_is_flushed_for_nothing_where_the_page_cache_is_meant(tmp_path: Path) -> None:
    writer = TraceWriter()
    writer.meta("tracer", b"grind 1")
    writer.event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
    writer.event(Kind.SNAP_FILE, path=b"data", inode=7, length=64, extra=0o100644)
    stores = [(7, 0, 0, 1, MemoryKind.FILE, 0), (1, 0, 0, 1, MemoryKind.STORE, 8), (2, 0, 0, 1, MemoryKind.STORE, 8)]
    writer.memory([*stores, (0, 0, 0, 0, MemoryKind.FENCE, Fence.SFENCE)])
    writer.event(Kind.MSYNC, inode=7, length=4096, extra=4)
    writer.memory([(1, 8, 0, 1, MemoryKind.STORE, 8)])
    trace = writer.trace()
    assert [(m.pattern, m.why) for m in analyse(trace, AUTO).misuses] == [("missing-sync", "")]
    assert [(m.pattern, m.why) for m in analyse(trace, EADR).misuses] == []


def test_flushes_of_ordinary_memory() -> None:
    """A tracer that records them says so by a file without an inode."""
    writer = TraceWriter()
    writer.meta("tracer", b"grind 1")
    files = [(0, 0, 0, 2, MemoryKind.FILE, 0), (7, 0, 0, 1, MemoryKind.FILE, 0)]
    writer.memory([*files, (0, 0, 0, 2, MemoryKind.FLUSH, Flush.CLWB), (1, 0, 0, 1, MemoryKind.STORE, 8)])
    found = analyse(writer.trace(), AUTO)
    assert next((m.pattern, m.why, m.severity) for m in found.misuses) == ("redundant-flush", "volatile", "bug")


LIBRARY = "/usr/lib/x86_64-linux-gnu/libpmemobj.so.1.0.0"


@pytest.mark.skipif(not Path(LIBRARY).exists(), reason="libpmemobj is not installed")
def test_what_a_library_does_by_itself_is_internal() -> None:
    from elftools.elf.elffile import ELFFile

    with open(LIBRARY, "rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".dynsym")
        address = {s.name: s["st_value"] for s in symbols.iter_symbols()}
    writer = TraceWriter()
    own, library, libc = (
        writer.entry(TableKind.MODULE, path.encode() + b"\0") for path in ("/app", LIBRARY, "/lib/libc.so.6")
    )

    def stack(*frames: tuple[int, int]) -> None:
        writer.entry(TableKind.STACK, np.array([(1, *frame) for frame in frames], FRAME).tobytes())

    stack((own, 5))
    stack((library, 7), (library, address["pmemobj_tx_commit"] + 4), (own, 5))
    stack((library, 7), (library, address["pmemobj_persist"] + 4), (own, 5))
    stack((libc, 9), (library, address["pmemobj_tx_add_range"] + 4), (own, 5))
    stack((libc, 9), (own, 5))
    stack((own, 6), (library, address["pmemobj_alloc"] + 4), (own, 5))  # a constructor that the library calls
    roles = StackRoles(writer.trace())
    assert list(roles.internal()) == [0, 0, 2, 0, 1, 0, 0]  # 2: a commit persists what the program stored
    assert [roles.in_c_library(number) for number in range(7)] == [False, False, False, False, True, True, False]


def test_the_page_lists_every_pattern_and_its_severity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (bug|warning) \| (.*) \|$", page, re.MULTILINE)
    documented = {(name, severity) for name, severity, _ in rows}
    assert documented == {(pattern.name, pattern.severity.value) for pattern in PATTERNS}
    for pattern in PATTERNS:
        if pattern.why and pattern.why != "page-cache":
            assert f"(`{pattern.why}`)" in page
    assert len({(pattern.name, pattern.why) for pattern in PATTERNS}) == len(PATTERNS)


def test_the_page_explains_every_field_of_the_report(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text()
    report = lint_document(analysed(tmp_path / "store.py"), TraceWriter().trace(), "run.trace", AUTO, [])
    fields = {*report, *report["misuses"][0]}
    assert [field for field in sorted(fields) if f"`{field}`" not in page] == []

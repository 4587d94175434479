"""Static dependences: what may lead to a line is in its slice, what cannot is not; unreadable code is refused."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powercut.errors import EnvironmentFailure, UsageError
from powercut.heal.bitcode.dependences import deciding_blocks
from powercut.heal.bitcode.slicing import Slice, StaticCode, in_order
from powercut.heal.heal_plan import Step
from powercut.trace.symbols import Frame

# In C, with one statement in each line, whose number its location has:
#   void put(long *to, long value) { *to = value; /* 10 */ }
#   void set(struct box *b, long x) { put(&b->bad, x); /* 20 */ b->good = x; /* 21 */
#                                     pmem_persist(&b->good, 8); /* 22 */ }
#   long get(struct box *b) { long found = b->bad; /* 30 */ if (found) /* 31 */ fail(); /* 32 */
#                             return b->good; /* 33 */ }
#   void fill(struct room *r) { pmem_persist(&r->boxes[1], 16); /* 40 */ }
ASSEMBLY = """
source_filename = "box.c"
%struct.box = type { i64, i64 }
%struct.room = type { i64, [4 x %struct.box] }
@table = global [1 x ptr] [ptr @unused], align 8

define dso_local void @put(ptr noundef %0, i64 noundef %1) !dbg !20 {
  %3 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !50, !DIExpression(), !30)
  %4 = load ptr, ptr %3, align 8, !dbg !30
  store i64 %1, ptr %4, align 8, !dbg !30
  ret void, !dbg !30
}

define dso_local void @set(ptr noundef %0, i64 noundef %1) !dbg !20 {
  %3 = getelementptr inbounds nuw %struct.box, ptr %0, i32 0, i32 0, !dbg !31
  call void @put(ptr noundef %3, i64 noundef %1), !dbg !31
  %4 = getelementptr inbounds nuw %struct.box, ptr %0, i32 0, i32 1, !dbg !32
  store i64 %1, ptr %4, align 8, !dbg !32
  call void @pmem_persist(ptr noundef %4, i64 noundef 8), !dbg !33
  ret void, !dbg !33
}

define dso_local i64 @get(ptr noundef %box) !dbg !20 {
entry:
  %field = getelementptr inbounds %struct.box, ptr %box, i32 0, i32 0, !dbg !34
  %found = load i64, ptr %field, align 8, !dbg !34
  %bad = icmp ne i64 %found, 0, !dbg !35
  br i1 %bad, label %failing, label %fine, !dbg !35

failing:                                          ; preds = %entry
  call void @fail() #3, !dbg !36
  unreachable, !dbg !36

fine:                                             ; preds = %entry
  %other = getelementptr inbounds %struct.box, ptr %box, i32 0, i32 1, !dbg !37
  %good = load i64, ptr %other, align 8, !dbg !37
  ret i64 %good, !dbg !37
}

define internal void @fill(ptr noundef %0) !dbg !20 {
  %2 = getelementptr inbounds %struct.room, ptr %0, i32 0, i32 1, i64 1, !dbg !38
  call void @pmem_persist(ptr noundef %2, i64 noundef 16), !dbg !38
  ret void
}

declare void @pmem_persist(ptr noundef, i64 noundef)
declare void @fail()

!10 = !DIFile(filename: "src/box.c", directory: "/src")
!20 = distinct !DISubprogram(name: "any", scope: !10, file: !10, line: 1)
!30 = !DILocation(line: 10, column: 3, scope: !20)
!31 = !DILocation(line: 20, column: 3, scope: !20)
!32 = !DILocation(line: 21, column: 3, scope: !20)
!33 = !DILocation(line: 22, column: 3, scope: !20)
!34 = !DILocation(line: 30, column: 3, scope: !20)
!35 = !DILocation(line: 31, column: 3, scope: !20)
!36 = !DILocation(line: 32, column: 3, scope: !20)
!37 = !DILocation(line: 33, column: 3, scope: !20)
!38 = !DILocation(line: 40, column: 3, scope: !20)
"""
READS_BAD, DECIDES, FAILS, READS_GOOD = 30, 31, 32, 33


def at(line: int, function: str = "any") -> Frame:
    return Frame(function, "/build/box.c", line, None)


@pytest.fixture
def code(tmp_path: Path) -> StaticCode:
    file = tmp_path / "box.ll"
    file.write_text(ASSEMBLY)
    return StaticCode([file])


def lines(code: StaticCode, line: int) -> set[int]:
    found = code.slice_of([[Frame("abort", None, None, "libc.so"), at(line)]])
    assert found is not None
    return {number for _, number in found.lines}


def test_a_failure_depends_on_its_branch_the_load_and_who_wrote_that_field(code: StaticCode) -> None:
    assert lines(code, FAILS) == {FAILS, DECIDES, READS_BAD, 10, 20, 40}


def test_a_store_by_a_pointer_counts_for_the_field_that_was_given(code: StaticCode) -> None:
    assert {10, 20} <= lines(code, READS_BAD)


def test_another_field_is_another_place(code: StaticCode) -> None:
    assert not {21, 22} & lines(code, READS_BAD)
    assert {21, 22} <= lines(code, READS_GOOD)


def test_what_is_durable_as_a_whole_counts_for_each_of_its_fields(code: StaticCode) -> None:
    assert 40 in lines(code, READS_BAD) and 40 in lines(code, READS_GOOD)


def test_lines_that_the_code_does_not_know_give_no_slice(code: StaticCode) -> None:
    assert code.slice_of([[at(99)], [Frame("main", "/build/other.c", FAILS, None)]]) is None


def test_steps_of_the_slice_go_first_and_none_is_lost() -> None:
    found = Slice(frozenset({("box.c", 20)}), frozenset({("box.c", 22), ("box.c", 23)}), frozenset({"set"}))
    places = [at(23, "other"), at(22, "set"), at(20), None, at(77), at(23, "other")]
    steps = [Step(number, frozenset({number}), "why") for number in range(len(places))]
    ordered = list(in_order(steps, found, places.__getitem__))
    assert [step.cause for step in ordered] == [2, 3, 4, 1, 0, 5], "what is not known to lead elsewhere stays in front"
    assert [step.why for step in ordered[:2]] == ["why; its line leads to the failing one", "why"]


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """Blocks that all lead to the last one."""
    count = draw(st.integers(1, 7))
    forward = [[draw(st.integers(block + 1, count - 1))] for block in range(count - 1)]
    more = [draw(st.lists(st.integers(0, count - 1), max_size=2)) for _ in forward]
    return [[*one, *others] for one, others in zip(forward, more, strict=True)] + [[]]


def reaches_end(graph: list[list[int]], start: int, without: int) -> bool:
    seen, waiting = {without}, [start]
    while waiting:
        block = waiting.pop()
        if block not in seen:
            seen.add(block)
            waiting += graph[block]
    return len(graph) - 1 in seen - {without}


@given(graphs())
def test_deciding_blocks_are_those_of_the_definition(graph: list[list[int]]) -> None:
    """One of its ways always comes to the block, and not all of its ways do."""
    found = deciding_blocks(graph)
    for block in range(len(graph)):
        for other in range(len(graph)):
            always = [step == block or not reaches_end(graph, step, without=block) for step in graph[other]]
            surely = block != other and not reaches_end(graph, other, without=block)
            assert (other in found[block]) == (any(always) and not surely), (block, other)


@pytest.mark.parametrize(
    "content", [b"", b"int main(void) { return 0; }\n", b"\xff\xfe\x00 nothing", ASSEMBLY.encode()]
)
def test_what_is_no_code_with_lines_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.write_bytes(content.partition(b"!10")[0].replace(b"!dbg", b"!no"))
    with pytest.raises(UsageError) as raised:
        StaticCode([file])
    assert raised.value.slug == "bad-bitcode"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, len(ASSEMBLY)), st.integers(0, 40), st.sampled_from(["", "%", "(", "}", "\n"])))
)
def test_damaged_assembly_is_read_or_refused(tmp_path: Path, wounds: list[tuple[int, int, str]]) -> None:
    text = ASSEMBLY
    for place, length, other in wounds:
        text = text[:place] + other + text[place + length :]
    file = tmp_path / "damaged.ll"
    file.write_text(text)
    with contextlib.suppress(UsageError):
        StaticCode([file, file]).slice_of([[at(FAILS)], [at(READS_GOOD)]])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        StaticCode([tmp_path / "nothing.bc"])
    assert raised.value.slug == "bad-bitcode"


@pytest.mark.skipif(shutil.which("llvm-dis") is None and shutil.which("clang") is None, reason="LLVM is not there")
def test_bitcode_that_no_tool_reads_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "-new.bc"
    file.write_bytes(b"BC\xc0\xde" + bytes(64))
    with pytest.raises(UsageError) as raised:
        StaticCode([file])
    assert raised.value.slug == "bad-bitcode" and "version" in raised.value.hint


def test_bitcode_without_tools_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new.bc"
    file.write_bytes(b"BC\xc0\xde" + bytes(64))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure) as raised:
        StaticCode([file])
    assert raised.value.slug == "no-llvm"


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not there")
@pytest.mark.parametrize("form", [["-c", "-O0"], ["-c", "-O2"], ["-S", "-O0"]])
def test_bitcode_of_the_clang_that_is_here_is_read(form: list[str], tmp_path: Path) -> None:
    source, made = tmp_path / "two words.c", tmp_path / "made"
    source.write_text(
        "struct s { long a, b; } *s;\nvoid abort(void);\nvoid one(long x) {\n  s->a = x;\n}\n"
        "void two(long x) {\n  s->b = x;\n}\nvoid see(void) {\n  if (s->a)\n    abort();\n}\n"
    )
    subprocess.run(["clang", "-g", *form, "-emit-llvm", "-o", made, source], check=True)
    found = StaticCode([made]).slice_of([[Frame("see", str(source), 11, None)]])
    assert found is not None
    assert (source.name, 4) in found.lines and (source.name, 10) in found.lines
    if "-O0" in form:
        assert (source.name, 7) not in found.lines

"""The memory tracer: every store, flush, fence and sync has the call stack of the program that made it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.symbols import StackResolver

from .memory_kit import MAPPED, TOOL, assert_explained, needs_tool, opened
from .tracer_kit import Recording, compile_c, tracer

pytestmark = needs_tool

STACKS = r"""
static volatile unsigned long *p;
__attribute__((noinline)) static void put(int at) {
    p[at] = at + 1; /* the store */
    __asm__ volatile("clwb (%0)" :: "r"(p + at) : "memory"); /* the flush */
    __asm__ volatile("sfence"); /* the fence */
}
__attribute__((noinline)) static void first(int at) { put(at); __asm__ volatile(""); }
__attribute__((noinline)) static void second(int at) { put(at); __asm__ volatile(""); }
static void on(int number) { second(number); __asm__ volatile(""); }
static sigjmp_buf back;
__attribute__((noinline)) static void jumping(int levels) {
    alignas(64) volatile char room[100];
    room[0] = levels;
    if (levels == 0)
        siglongjmp(back, 1);
    first(levels);
    jumping(levels - room[0] / levels);
    __asm__ volatile("");
}
int main(void) {
    p = (unsigned long *)map_file("f", 4096, 0, 0);
    for (int i = 0; i < 20; i++) {
        first(i);
        second(i);
    }
    if (sigsetjmp(back, 1) == 0)
        jumping(5);
    second(6);
    signal(SIGUSR1, on);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    msync((void *)p, 4096, MS_SYNC); /* the sync */
    return 0;
}
"""

Place = tuple[str, int | None]


def with_stacks(data: Path, *command: str) -> Recording:
    output = data.parent / "run.trace"
    options = ["--output", str(output), "--dir", str(data), "--memory-tool", str(TOOL)]
    done = subprocess.run([tracer(), *options, "--", *command], cwd=data, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return opened(Recording(0, Trace.open(output), data, done.stderr))


def stacks(run: Recording, *kinds: Kind) -> list[list[Place]]:
    """For each event of some kinds the functions and lines that led to it, innermost first."""
    resolver = StackResolver.of(run.trace)
    events = run.events(*kinds)
    resolver.prepare(event.stack for event in events)
    return [[(frame.function, frame.line) for frame in resolver.frames(event.stack)] for event in events]


def line_with(data: Path, text: str) -> int:
    lines = (data.parent / "program.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_stacks_are_those_of_the_program(data: Path) -> None:
    """The same functions on other ways, after a longjmp, in signal handlers: each event has its own stack."""
    run = with_stacks(data, compile_c(data.parent, MAPPED + "#include <stdalign.h>\n" + STACKS))
    ways = [[name for name, _ in stack] for stack in stacks(run, Kind.STORE)]
    plain = [["put", way, "main"] for _ in range(20) for way in ("first", "second")]
    deep = [["put", "first", *["jumping"] * depth, "main"] for depth in range(1, 6)]
    assert [way[: len(wanted)] for way, wanted in zip(ways, plain, strict=False)] == plain
    assert [way[: len(wanted)] for way, wanted in zip(ways[40:], deep, strict=False)] == deep
    assert ways[45][:3] == ["put", "second", "main"]
    for way in ways[46:]:
        assert way[:3] == ["put", "second", "on"]
        assert "main" in way
    for kind, text in ((Kind.STORE, "the store"), (Kind.FLUSH, "the flush"), (Kind.MSYNC, "the sync")):
        found = {next(line for name, line in stack if name in ("put", "main")) for stack in stacks(run, kind)}
        assert found == {line_with(data, f"/* {text}")}, text
    fences = [stack[0] for event, stack in zip(run.events(Kind.FENCE), stacks(run, Kind.FENCE), strict=True)]
    assert fences.count(("put", line_with(data, "/* the fence"))) == len(ways)


COROUTINES = r"""
#include <ucontext.h>
static volatile unsigned long *p;
static ucontext_t top, sides[2];
__attribute__((noinline)) static void put(int at) { p[at] = at + 1; __asm__ volatile(""); }
__attribute__((noinline)) static void left(int at) { put(at); __asm__ volatile(""); }
__attribute__((noinline)) static void right(int at) { put(at); __asm__ volatile(""); }
static void side(int number) {
    for (int i = 0; i < 50; i++) {
        if (number == 0) left(i); else right(i);
        swapcontext(&sides[number], &sides[1 - number]);
    }
}
int main(void) {
    p = (unsigned long *)map_file("f", 4096, 0, 0);
    for (int i = 0; i < 2; i++) {
        getcontext(&sides[i]);
        sides[i].uc_stack.ss_sp = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        sides[i].uc_stack.ss_size = 65536;
        sides[i].uc_link = &top;
        makecontext(&sides[i], (void (*)(void))side, 1, i);
    }
    swapcontext(&top, &sides[0]);
    return 0;
}
"""


def test_stacks_of_coroutines(data: Path) -> None:
    run = with_stacks(data, compile_c(data.parent, MAPPED + COROUTINES))
    ways = [[name for name, _ in stack[:3]] for stack in stacks(run, Kind.STORE)]
    assert ways == [["put", way, "side"] for _ in range(50) for way in ("left", "right")]


PYTHON = """
import mmap, sys
file = open(sys.argv[1], "w+b")
file.truncate(4096)
area = mmap.mmap(file.fileno(), 4096)

def put(at, value):
    area[at] = value  # the store

def first(at):
    put(at, 1)  # first

def second(at):
    put(at, 2)  # second

for at in range(50):
    first(at)
    second(at)
exec(compile("first(60)", "one.py", "exec"))
exec(compile("\\nfirst(61)", "two.py", "exec"))
"""


def test_python_frames_of_stores(data: Path) -> None:
    """The interpreter's own stack is the same for all; what tells stores apart are the Python frames."""
    script = data.parent / "script.py"
    script.write_text(PYTHON)
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    run = with_stacks(data, python, "-S", str(script), str(data / "f"))
    found = [[place for place in stack if place[0] in ("put", "first", "second")] for stack in stacks(run, Kind.STORE)]
    numbered = {line.rpartition("# ")[2]: number for number, line in enumerate(PYTHON.splitlines(), 1)}
    ways = [[("put", numbered["the store"]), (way, numbered[way])] for _ in range(50) for way in ("first", "second")]
    assert found[:100] == ways
    assert len(found) == 102
    modules = [[place for place in stack if place[0] == "<module>"] for stack in stacks(run, Kind.STORE)]
    assert [places[0] for places in modules[100:]] == [("<module>", 1), ("<module>", 2)]
    assert_explained(run)

"""The unwinder finds the frames that gdb finds, address by address, wherever a program may be when it writes.

In callbacks of the C library, below frames of variable size or with a stack aligned anew, in signal handlers, on other
stacks and in other threads, while exceptions are thrown; at several levels of optimization, with and without frame
pointers, by gcc and by clang, linked dynamically and statically.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from powercut.trace.layout import Kind, TableKind
from powercut.trace.reader import Trace

from .tracer_kit import tracer

HERE = Path(__file__).parent
FRAME = struct.Struct("<IIQ")
NATIVE = 1

C_PROGRAM = r"""
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
static int fd;
static volatile char sink;
__attribute__((noinline)) static int put(const char *text) {
    int wrong = write(fd, text, 1) != 1;
    asm volatile("" : : "r"(wrong));
    return wrong;
}
static int compare(const void *a, const void *b) {
    int below = put("q");
    return *(const int *)a - *(const int *)b + below;
}
__attribute__((noinline)) static int of_variable_size(int size) {
    char *room = alloca((size_t)size), more[size];
    memset(room, size, (size_t)size);
    memset(more, size, (size_t)size);
    sink = room[size / 2] + more[size / 2];
    int below = size > 100 ? of_variable_size(size - 100) : put("v");
    sink = room[0];
    return below + 1;
}
__attribute__((noinline)) static int aligned_anew(int depth) {
    _Alignas(128) volatile char room[256];
    room[depth] = (char)depth;
    int below = depth > 0 ? aligned_anew(depth - 1) : put("a");
    return below + room[depth];
}
__attribute__((noinline)) static int many(int a, int b, int c, int d, int e, int f, long g, long h, double i) {
    int below = put("m");
    return below + a + b + c + d + e + f + (int)g + (int)h + (int)i;
}
static void on_signal(int number, siginfo_t *info, void *context) {
    if (aligned_anew(2) < 0 || put("s") != 0)
        _exit(1);
}
static void *in_thread(void *argument) {
    int wrong = of_variable_size(250) < 0 || put("t") != 0;
    return wrong ? argument : NULL;
}
static ucontext_t before, beside;
static void on_another_stack(void) {
    if (put("u") != 0)
        _exit(1);
}
static jmp_buf back;
__attribute__((noinline)) static void jump(int depth) {
    if (depth > 0)
        jump(depth - 1);
    if (put("j") == 0)
        longjmp(back, 1);
    sink = 0;
}
__attribute__((noinline)) static int deep(int levels) {
    int below = levels > 0 ? deep(levels - 1) : put("d");
    asm volatile("");
    return below + 1;
}
static void at_exit(void) {
    if (put("x") != 0)
        _exit(1);
}
int main(int argc, char **argv) {
    fd = open(argv[1], O_CREAT | O_WRONLY, 0644);
    int numbers[] = {5, 3, 9, 1};
    qsort(numbers, 4, sizeof(int), compare);
    of_variable_size(450);
    aligned_anew(4);
    many(1, 2, 3, 4, 5, 6, 7, 8, 9.0);
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR2, &action, NULL);
    kill(getpid(), SIGUSR2);
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    getcontext(&beside);
    beside.uc_stack.ss_sp = malloc(1 << 16);
    beside.uc_stack.ss_size = 1 << 16;
    beside.uc_link = &before;
    makecontext(&beside, on_another_stack, 0);
    swapcontext(&before, &beside);
    if (setjmp(back) == 0)
        jump(3);
    deep(90);
    atexit(at_exit);
    return 0;
}
"""
CXX_PROGRAM = r"""
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>
static int fd;
__attribute__((noinline)) static void put(const char *text) {
    if (write(fd, text, std::strlen(text)) < 0)
        throw std::runtime_error("write");
}
struct Leaves {
    std::string name;
    ~Leaves() { put(name.c_str()); } // while an exception is on its way
};
__attribute__((noinline)) static int thrower(int depth) {
    Leaves leaves{"left " + std::to_string(depth)};
    if (depth == 0)
        throw std::invalid_argument("deep enough");
    return thrower(depth - 1) + 1;
}
struct Shape {
    virtual ~Shape() = default;
    virtual void draw(int times) const = 0;
};
struct Line : virtual Shape {
    void draw(int times) const override { std::function<void()>([&] { put("line"); })(); if (times) draw(times - 1); }
};
int main(int argc, char **argv) {
    fd = open(argv[1], O_CREAT | O_WRONLY, 0644);
    try {
        thrower(5);
    } catch (const std::exception &error) {
        put(error.what()); // in the handler
    }
    Line line;
    static_cast<const Shape &>(line).draw(3);
    std::vector<int> numbers{4, 2, 8};
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) { put("sort"); return a < b; });
    static Leaves last{"last"};
    return 0;
}
"""


def built(folder: Path, compiler: str, flags: str) -> Path:
    plus = compiler.endswith("++")
    source = folder / ("program.cc" if plus else "program.c")
    source.write_text(CXX_PROGRAM if plus else C_PROGRAM)
    command = [compiler, "-g", *flags.split(), "-pthread", "-w", str(source), "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    return folder / "program"


def recorded(program: Path, folder: Path) -> list[list[tuple[str | None, int]]]:
    data, output = folder / "data", folder / "trace"
    data.mkdir()
    command = [tracer(), "--output", output, "--dir", data, "--", program, data / "file"]
    subprocess.run(command, check=True, timeout=60)
    trace, stacks = Trace.open(output), []
    for event in trace.events[trace.of_kind(Kind.WRITE)]:
        frames = []
        for kind, module, address in FRAME.iter_unpack(bytes(trace.entry(TableKind.STACK, int(event["stack"])))):
            assert kind == NATIVE
            path = bytes(trace.entry(TableKind.MODULE, module)).partition(b"\0")[0].decode() if module else None
            frames.append((Path(path).name if path else None, address))
        stacks.append(frames)
    return stacks


def seen_by_gdb(program: Path, folder: Path) -> list[list[tuple[str | None, int]]]:
    output = folder / "stacks.json"
    command = ["gdb", "-nx", "-q", "-batch", "-ex", f'set $output = "{output}"', "-x", HERE / "gdb_stacks.py"]
    done = subprocess.run([*command, "--args", program, folder / "other"], capture_output=True, text=True, timeout=120)
    assert output.exists(), done.stdout + done.stderr
    return [[(path, address) for path, address in stack] for stack in json.loads(output.read_text())]


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb: tools/system-packages.sh compilers")
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", "-O0"),
        ("gcc", "-O2 -fomit-frame-pointer"),
        ("gcc", "-O3 -fno-omit-frame-pointer -static"),
        ("clang", "-Os"),
        ("g++", "-O2"),
        ("clang++", "-O2 -static"),
    ],
)
def test_frames_are_those_of_gdb(tmp_path: Path, compiler: str, flags: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    program = built(tmp_path, compiler, flags)
    ours, theirs = recorded(program, tmp_path), seen_by_gdb(program, tmp_path)
    assert len(ours) == len(theirs) >= 15
    assert max(map(len, ours)) > (90 if "++" not in compiler else 8)
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert (number, mine) == (number, other)

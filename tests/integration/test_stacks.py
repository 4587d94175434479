"""Stacks end to end: programs of several kinds are recorded and the reported file and line are those of the source.

Before: a C compiler. After: the tracer (built here from the sources in the tree) finds, for every write and sync in
the data folder, the line that a person would point at, whatever the program is made of.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from powercut.trace.layout import Kind
from powercut.trace.pycode import line_of, parse_pycode, position_of
from powercut.trace.reader import Trace
from powercut.trace.symbols import Frame, StackResolver, Symbolizer, user_frame

ROOT = Path(__file__).resolve().parents[2]

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def compile_program(compiler: str, source: Path, program: Path, *flags: str) -> Path:
    # Tail calls leave no frame behind: true, but not what these tests are about.
    optimised = ["-g", "-O2", "-fno-optimize-sibling-calls"]
    subprocess.run([compiler, *optimised, *flags, str(source), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="session")
def tracer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    program = tmp_path_factory.mktemp("tracer") / "powercut-ptrace"
    sources = [*sorted((ROOT / "native/ptrace").rglob("*.c")), ROOT / "native/view/view.c"]
    folders = [f"-I{ROOT / 'native' / name}" for name in ("", "ptrace", "view")]
    subprocess.run(["gcc", "-std=gnu11", "-O1", *folders, *map(str, sources), "-o", str(program)], check=True)
    return program


class Recording:
    """One recorded run and what its stacks say."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.resolver = StackResolver.of(trace)

    def stacks(self, *kinds: Kind) -> list[tuple[Frame, ...]]:
        events = self.trace.events[self.trace.of_kind(*kinds)]
        self.resolver.prepare(int(stack) for stack in events["stack"])
        return [self.resolver.frames(int(stack)) for stack in events["stack"]]

    def places(self, *kinds: Kind) -> list[tuple[str, int | None]]:
        """File name and line of the user's frame for each event of these kinds."""
        found = [user_frame(stack) for stack in self.stacks(*kinds)]
        return [(Path(frame.file or "").name, frame.line) if frame else ("", None) for frame in found]


Recorder = Callable[..., Recording]


@pytest.fixture
def record(tracer: Path, tmp_path: Path) -> Recorder:
    count = itertools.count()

    def run(*command: object, env: dict[str, str] | None = None) -> Recording:
        data = tmp_path / "data"
        data.mkdir(exist_ok=True)
        output = tmp_path / f"trace{next(count)}.pct"
        arguments = [str(tracer), "--output", str(output), "--dir", str(data), "--", *map(str, command)]
        subprocess.run(arguments, check=True, timeout=120, env={**os.environ, **(env or {})})
        return Recording(Trace.open(output))

    return run


def line_with(source: Path, text: str) -> int:
    return next(number for number, line in enumerate(source.read_text().splitlines(), 1) if text in line)


NO_TABLES = "-fno-asynchronous-unwind-tables"
C_WRITER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int fd;
__attribute__((noinline)) static int put(const char *text) {
    int wrong = write(fd, text, 4) != 4; /* the write */
    return wrong;
}
__attribute__((noinline)) static int save(int times) {
    int wrong = 0;
    for (int i = 0; i < times; i++)
        wrong += put("abcd"); /* the call */
    wrong += fsync(fd); /* the sync */
    return wrong;
}
int main(int argc, char **argv) {
    fd = open(argv[1], O_CREAT | O_WRONLY, 0644);
    return save(3);
}
"""


@needs_gcc
@pytest.mark.parametrize(
    "flags", [(), ("-static",), ("-static-pie",), (NO_TABLES,), (NO_TABLES, "-fno-omit-frame-pointer")]
)
def test_c_programs(record: Recorder, tmp_path: Path, flags: Sequence[str]) -> None:
    source = tmp_path / "writer.c"
    source.write_text(C_WRITER)
    program = compile_program("gcc", source, tmp_path / "writer", *flags)
    run = record(program, tmp_path / "data/file")
    assert run.places(Kind.WRITE) == [("writer.c", line_with(source, "the write"))] * 3
    assert run.places(Kind.FSYNC) == [("writer.c", line_with(source, "the sync"))]
    if flags == (NO_TABLES,):
        return  # the program itself cannot be unwound, but the C library can: the caller of write is known
    functions = [frame.function for frame in run.stacks(Kind.WRITE)[0]]
    assert [name for name in functions if name in ("put", "save", "main")] == ["put", "save", "main"]
    assert functions[-1] == "_start"


@needs_gcc
def test_no_search_table(record: Recorder, tmp_path: Path) -> None:
    """A static program linked without .eh_frame_hdr: the tracer builds its own index."""
    source = tmp_path / "writer.c"
    source.write_text(C_WRITER)
    program = compile_program("gcc", source, tmp_path / "writer", "-static", "-Wl,--no-eh-frame-hdr")
    run = record(program, tmp_path / "data/file")
    assert run.places(Kind.WRITE) == [("writer.c", line_with(source, "the write"))] * 3
    assert run.stacks(Kind.WRITE)[0][-1].function == "_start"


RAW_WRITER = r"""
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <string.h>
#include <unistd.h>
/* A C library whose signal trampoline has no description, and a system call in code that is in no file. */
__asm__(".globl restorer\nrestorer: mov $15, %eax\nsyscall\n");
void restorer(void);
struct kernel_action { void (*handler)(int); unsigned long flags; void (*restore)(void); unsigned long mask; };
static int fd;
static void on_signal(int number) {
    int wrong = write(fd, "sig\n", 4) != 4; /* in the handler */
    if (wrong) _exit(number);
}
static const unsigned char generated[] = {0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0xc3};
int main(int argc, char **argv) {
    fd = open(argv[1], O_CREAT | O_WRONLY, 0644);
    struct kernel_action action = {on_signal, 0x04000000, restorer, 0};
    syscall(SYS_rt_sigaction, SIGUSR1, &action, 0, 8);
    raise(SIGUSR1); /* the signal */
    void *place = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, generated, sizeof generated);
    long done = ((long (*)(int, const char *, long))place)(fd, "jit\n", 4); /* the generated code */
    return done != 4;
}
"""


@needs_gcc
def test_code_without_description(record: Recorder, tmp_path: Path) -> None:
    source = tmp_path / "raw.c"
    source.write_text(RAW_WRITER)
    program = compile_program("gcc", source, tmp_path / "raw")
    run = record(program, tmp_path / "data/file")
    handler, generated = run.stacks(Kind.WRITE)
    assert user_frame(handler).line == line_with(source, "in the handler")
    assert ("main", line_with(source, "the signal")) in [(frame.function, frame.line) for frame in handler]
    assert generated[0].module is None
    assert (generated[1].function, generated[1].line) == ("main", line_with(source, "the generated code"))
    assert generated[-1].function == "_start"


CXX_WRITER = r"""
#include <csignal>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
struct Log {
    int fd;
    virtual ~Log() {}
    virtual bool put(const std::string &text);
};
__attribute__((noinline)) bool Log::put(const std::string &text) {
    alignas(64) volatile char realigned[96];
    realigned[0] = 1;
    bool good = write(fd, text.data(), text.size()) > 0; // the write
    return good && realigned[0];
}
static int signal_fd;
static void on_signal(int) {
    if (write(signal_fd, "sig\n", 4) != 4) // in the handler
        _exit(3);
}
__attribute__((noinline)) int descend(int levels, Log &log) {
    if (levels == 0)
        return log.put("deep\n");
    int below = descend(levels - 1, log);
    asm volatile("");
    return below + 1;
}
int main(int argc, char **argv) {
    int fd = signal_fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0644);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([=] {
            Log log;
            log.fd = fd;
            for (int k = 0; k < 50; k++)
                log.put(std::to_string(k)); // from a thread
        });
    for (auto &thread : threads)
        thread.join();
    Log log;
    log.fd = fd;
    descend(60, log);
    static char other[65536];
    stack_t stack = {};
    stack.ss_sp = other;
    stack.ss_size = sizeof other;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1); // the signal
    return 0;
}
"""


@needs_gxx
@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_cxx_threads_without_frame_pointers(record: Recorder, tmp_path: Path, flags: Sequence[str]) -> None:
    source = tmp_path / "log.cc"
    source.write_text(CXX_WRITER)
    program = compile_program("g++", source, tmp_path / "log", "-fomit-frame-pointer", "-pthread", *flags)
    run = record(program, tmp_path / "data/log")
    places = run.places(Kind.WRITE)
    assert places.count(("log.cc", line_with(source, "the write"))) == 201
    assert places.count(("log.cc", line_with(source, "in the handler"))) == 1
    stacks = run.stacks(Kind.WRITE)
    in_thread = line_with(source, "from a thread")
    assert sum(any(frame.line == in_thread for frame in stack) for stack in stacks) == 200
    deep = [stack for stack in stacks if any("descend" in frame.function for frame in stack)]
    assert len(deep) == 1
    assert any(frame.function == "main" for frame in deep[0])
    handler = stacks[places.index(("log.cc", line_with(source, "in the handler")))]
    assert ("main", line_with(source, "the signal")) in [(frame.function, frame.line) for frame in handler]


@needs_gcc
def test_library_loaded_late(record: Recorder, tmp_path: Path) -> None:
    """Code that is mapped after the first stack was taken."""
    library = tmp_path / "late.c"
    library.write_text(
        '#include <unistd.h>\nint late(int fd) {\n    int n = write(fd, "late", 4);\n    return n - 4;\n}\n'
    )
    source = tmp_path / "main.c"
    source.write_text(
        "#include <dlfcn.h>\n#include <fcntl.h>\n#include <unistd.h>\n"
        "int main(int argc, char **argv) {\n"
        "    int fd = open(argv[1], O_CREAT | O_WRONLY, 0644);\n"
        '    if (write(fd, "early", 5) != 5)\n        return 1;\n'
        '    int (*late)(int) = (int (*)(int))dlsym(dlopen(argv[2], RTLD_NOW), "late");\n'
        "    int result = late(fd);\n    return result;\n}\n"
    )
    compile_program("gcc", library, tmp_path / "liblate.so", "-shared", "-fPIC")
    program = compile_program("gcc", source, tmp_path / "main")
    run = record(program, tmp_path / "data/file", tmp_path / "liblate.so")
    assert run.places(Kind.WRITE) == [("main.c", 6), ("late.c", 3)]
    assert [frame.function for frame in run.stacks(Kind.WRITE)[1]][1:3] == ["late", "main"]


PYTHON_WRITER = """
import os, sqlite3, subprocess, sys, threading
folder = sys.argv[1]

def save(name):
    with open(os.path.join(folder, name), "w") as file:
        file.write("text")
        file.flush()  # the write
        os.fsync(file.fileno())  # the sync

def lines():
    save("generator")  # in a generator
    yield 1

class Store:
    def __init__(self):
        self.connection = sqlite3.connect(os.path.join(folder, "db"))
        self.connection.execute("create table t (a)")

    def put(self, value):
        self.connection.execute("insert into t values (?)", (value,))
        self.connection.commit()  # the commit

save("plain")
list(lines())
thread = threading.Thread(target=save, args=("thread",))
thread.start()
thread.join()
child = os.fork()
if child == 0:
    save("forked")  # in a child
    os._exit(0)
os.waitpid(child, 0)
Store().put(1)
(lambda: exec(compile("save('compiled')", "generated.py", "exec")))()
subprocess.run([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('x')", folder + "/other"], check=True)
"""


def real_interpreter() -> str:
    return str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]


OTHER_PYTHONS = [f"python3.{minor}" for minor in (11, 12, 13, 14)]


@pytest.fixture(params=["running", "/usr/bin/python3", *OTHER_PYTHONS])
def interpreter(request: pytest.FixtureRequest) -> str:
    """The real file of an interpreter: version managers put a shell script of the same name first."""
    if request.param == "running":
        return real_interpreter()
    found = shutil.which(request.param)
    code = "import sys, sqlite3; assert sys.version_info >= (3, 11); print(sys._base_executable)"
    done = subprocess.run([found, "-c", code], capture_output=True, text=True) if found else None
    if done is None or done.returncode != 0:
        pytest.skip(f"no usable {request.param}")
    return str(Path(done.stdout.strip()).resolve())


def test_python_programs(record: Recorder, tmp_path: Path, interpreter: str) -> None:
    source = tmp_path / "program.py"
    source.write_text(PYTHON_WRITER)
    run = record(interpreter, source, tmp_path / "data")
    names = [run.trace.string(int(e["path"])) for e in run.trace.events[run.trace.of_kind(Kind.CREATE)]]
    assert {b"plain", b"generator", b"thread", b"forked", b"compiled", b"other"} <= set(names)
    syncs = [stack for stack in run.stacks(Kind.FSYNC, Kind.FDATASYNC) if user_frame(stack)]
    from_save = [stack for stack in syncs if user_frame(stack).function == "save"]
    assert {(f.file, f.line) for f in map(user_frame, from_save)} == {(str(source), line_with(source, "the sync"))}
    assert len(from_save) == 5
    callers = [[(frame.function, frame.line) for frame in stack if frame.python][1:] for stack in from_save]
    assert callers[0] == [("<module>", line_with(source, 'save("plain")'))]
    assert callers[1][0] == ("lines", line_with(source, "in a generator"))
    assert callers[2][0][0] == "Thread.run"
    assert callers[3] == [("<module>", line_with(source, "in a child"))]
    commits = [stack for stack in syncs if user_frame(stack).line == line_with(source, "the commit")]
    assert commits
    assert any("libsqlite3" in (frame.module or "") for frame in commits[0])
    assert not any(Path(frame.module or "").name.startswith(("python", "libpython")) for frame in commits[0])


def test_python_through_exec_of_a_script(record: Recorder, tmp_path: Path) -> None:
    """A shell that starts two interpreters: code objects are shared between processes, stacks stay apart."""
    first = tmp_path / "first.py"
    first.write_text("import sys\n\nopen(sys.argv[1] + '/a', 'w').write('a')\n")
    second = tmp_path / "second.py"
    second.write_text("import sys\nopen(sys.argv[1] + '/b', 'w').write('b')\n")
    data = tmp_path / "data"
    python = real_interpreter()
    run = record("sh", "-c", 'for s in "$3" "$4" "$3"; do "$1" "$s" "$2"; done', "-", python, data, first, second)
    assert run.places(Kind.WRITE) == [("first.py", 3), ("second.py", 2), ("first.py", 3)]


def test_frames_survive_a_rebuilt_program(tmp_path: Path) -> None:
    """Another build at the same path must not lend its lines to old addresses."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    source = tmp_path / "writer.c"
    source.write_text(C_WRITER)
    program = compile_program("gcc", source, tmp_path / "writer")
    other = Symbolizer()
    other.expect_build_id(str(program), "00" * 20)
    [frames] = other.resolve([(str(program), 0x1140)]).values()
    assert frames == (Frame("writer+0x1140", None, None, str(program)),)


@needs_gcc
def test_without_a_reader_of_lines(tmp_path: Path) -> None:
    source = tmp_path / "writer.c"
    source.write_text(C_WRITER)
    program = compile_program("gcc", source, tmp_path / "writer")
    symbols = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    main = next(int(line.split()[0], 16) for line in symbols if line.endswith(" T main"))
    [frames] = Symbolizer(reader=None).resolve([(str(program), main + 1)]).values()
    assert frames == (Frame("main", None, None, str(program)),)


def codes_of(code: types.CodeType) -> list[types.CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [code, *(found for constant in inner for found in codes_of(constant))]


@pytest.mark.parametrize("module", [threading, subprocess, shutil, types])
def test_line_table_matches_the_running_python(module: types.ModuleType) -> None:
    path = Path(str(module.__file__))
    for code in codes_of(compile(path.read_text("utf-8"), str(path), "exec")):
        for index, (line, _, column, _) in enumerate(code.co_positions()):
            expected = (line, None if column is None or line is None else column + 1)
            assert position_of(code.co_firstlineno, code.co_linetable, 2 * index) == expected
        assert line_of(code.co_firstlineno, code.co_linetable, len(code.co_code)) is None


def test_cut_tables() -> None:
    assert line_of(1, b"", 0) is None
    assert line_of(1, b"\xf0\x40\x40", 100) is None
    assert line_of(7, b"\x80\x00", -2) is None
    assert parse_pycode(b"\0" * 23) is None
    assert parse_pycode(b"\xff" * 24) is None


PYTHON_LIBRARY = Frame("dump", "/usr/lib/python3.11/json/__init__.py", 179, None, python=True)
PYTHON_USER = Frame("save", "/app/app.py", 3, None, python=True)
C_LIBRARY = Frame("write", "write.c", 26, "/usr/lib/x86_64-linux-gnu/libc.so.6")
C_EXIT = Frame("__GI_exit", "exit.c", 146, "/usr/lib/x86_64-linux-gnu/libc.so.6")
C_START = Frame("_start", None, None, "/app/program")
C_USER = Frame("put", "/app/put.c", 9, "/app/program")
C_HEADER = Frame("flush", "/usr/include/c++/12/fstream", 100, "/app/program")
C_STRIPPED = Frame("program+0x10", None, None, "/app/program")
ADDON_STRIPPED = Frame("store.node+0x10", None, None, "/app/node_modules/store/store.node")
ADDON = Frame("Store::Rename()", None, None, "/app/node_modules/store/store.node")
RUNTIME = Frame("worker", "/build/deps/uv/src/threadpool.c", 122, "/usr/bin/node")


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([], None),
        ([C_LIBRARY, PYTHON_LIBRARY, PYTHON_USER], PYTHON_USER),
        ([C_LIBRARY, PYTHON_LIBRARY], PYTHON_LIBRARY),
        ([C_LIBRARY, C_HEADER, C_USER], C_USER),
        ([C_LIBRARY, C_STRIPPED], C_STRIPPED),
        ([C_LIBRARY], C_LIBRARY),
        ([C_LIBRARY, C_EXIT, C_START], C_EXIT),
        ([C_LIBRARY, ADDON_STRIPPED, ADDON, RUNTIME, C_LIBRARY], ADDON),
        ([C_LIBRARY, ADDON_STRIPPED, RUNTIME], ADDON_STRIPPED),
        ([C_LIBRARY, RUNTIME], RUNTIME),
    ],
)
def test_user_frame(frames: list[Frame], expected: Frame | None) -> None:
    assert user_frame(frames) == expected

"""The memory tracer: programs of all kinds run in it, with what they start; those that fail do so as ever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from powercut.trace.layout import Kind

from .memory_kit import MAPPED, TOOL, assert_explained, needs_tool, trace
from .tracer_kit import Event, compile_c, record

pytestmark = needs_tool


def test_fork_keeps_mappings_and_exec_loses_them(data: Path) -> None:
    body = r"""
    int main(int argc, char **argv) {
        if (argc > 1) {
            volatile unsigned char *p = map_file("g", 4096, 0, 0);
            p[0] = 0xcc;
            return 0;
        }
        volatile unsigned char *p = map_file("f", 4096, 0, 0);
        p[0] = 0xaa;
        pid_t child = fork();
        if (child == 0) {
            p[1] = 0xbb;
            execl("/proc/self/exe", argv[0], "again", NULL);
            _exit(9);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return 1;
        p[2] = 0xdd;
        child = fork();
        if (child == 0) {
            p[3] = 0xee;
            kill(getpid(), SIGKILL);
        }
        waitpid(child, &status, 0);
        p[4] = 0xff;
        return WTERMSIG(status) != SIGKILL;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 0"
    story = [(e.kind, e.data) for e in run.events(Kind.FORK, Kind.EXEC, Kind.EXIT, Kind.STORE)]
    assert [kind if kind != Kind.STORE else stored.hex() for kind, stored in story] == [
        *(Kind.EXEC, "aa", Kind.FORK, "bb", Kind.EXEC, "cc", Kind.EXIT, "dd"),
        *(Kind.FORK, "ee", Kind.EXIT, "ff", Kind.EXIT),
    ]
    parent, child = run.events(Kind.EXEC)[0].pid, run.events(Kind.FORK)[0].extra
    assert [event.pid for event in run.events(Kind.STORE)][:4] == [parent, child, child, parent]
    programs = {event.path for event in run.events(Kind.EXEC)}
    assert programs == {str(data.parent / "program").encode()}
    assert_explained(run)


def test_pointers_to_code_that_change(data: Path) -> None:
    """Code that goes where it went before goes elsewhere when it should, and to nowhere as ever."""
    body = r"""
    typedef unsigned function(unsigned);
    static sigjmp_buf back;
    static __attribute__((noinline)) unsigned twice(unsigned x) { return 2 * x + 1; }
    static __attribute__((noinline)) unsigned thrice(unsigned x) { return 3 * x + 2; }
    static __attribute__((noinline)) unsigned less(unsigned x) { return x / 5; }
    static __attribute__((noinline)) unsigned through(function *volatile *at, unsigned x) { return (*at)(x); }
    static void on_signal(int number) { siglongjmp(back, number); }
    int main(void) {
        function *volatile table[] = {twice, thrice, less};
        unsigned x = 1, expected = 1;
        for (unsigned i = 0; i < 900; i++) {
            x = i % 2 ? through(&table[i % 3], x) : twice(through(&table[i * i % 3], x)) + 7;
            unsigned which = (i % 2 ? i : i * i) % 3;
            expected = which == 0 ? 2 * expected + 1 : which == 1 ? 3 * expected + 2 : expected / 5;
            if (i % 2 == 0) expected = 2 * expected + 8;
            if (i == 450) table[1] = less, table[2] = thrice;
            if (i > 450 && which) x = expected = i;
        }
        if (x != expected) return 1;
        unsigned char *p = map_file("f", 8192, 0, 0);
        OK(truncate("f", 4096));
        signal(SIGBUS, on_signal);
        if (sigsetjmp(back, 1) == 0) __asm__ volatile("jmp 1f; 1: call *(%0)" :: "r"(p + 4096) : "memory");
        *(volatile unsigned char *)p = 0xaa;
        return 0;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 0"
    assert [event.data for event in run.events(Kind.STORE)] == [b"\xaa"]


def test_the_program_hardly_notices(data: Path) -> None:
    """Environment, descriptors, arguments and outputs are its own."""
    body = r"""
    #include <valgrind/valgrind.h>
    extern char **environ;
    int main(int argc, char **argv) {
        if (RUNNING_ON_VALGRIND) puts("in Valgrind");
        for (char **at = environ; *at; at++) puts(*at);
        for (int fd = 0; fd < 100; fd++) if (fcntl(fd, F_GETFD) != -1) printf("descriptor %d\n", fd);
        for (int i = 1; i < argc; i++) puts(argv[i]);
        fflush(stdout);
        if (argc > 1) execl("/proc/self/exe", argv[0], NULL);
        return 3;
    }"""
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": "libm.so.6", "HOME": "/nowhere"}
    (data / ".valgrindrc").write_text("--tool=nonsense\n")
    run = trace(data, body, "-x", "--", "", env=environment)
    assert run.trace.meta["exit"] == b"exited 3"
    said = "".join(f"{key}={value}\n" for key, value in environment.items())
    said += "descriptor 0\ndescriptor 1\ndescriptor 2\n"
    assert run.outputs == {1: (said + "-x\n--\n\n" + said).encode()}
    assert run.stderr == ""
    assert not run.trace.notes()


def test_a_program_that_crashes(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned char *p = map_file("f", 4096, 0, 0);
        p[9] = 9;
        *(volatile int *)8 = 1;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"signaled 11"
    assert_explained(run)
    assert run.stderr == ""
    (note,) = run.trace.notes()
    assert "SIGSEGV" in note
    assert sorted(path.name for path in data.iterdir()) == ["f"]


def test_a_program_whose_thread_dies_while_others_sleep_dies_of_that_signal(data: Path) -> None:
    """They are on their way out then, and may take the signal that the process sends itself."""
    body = r"""
    #include <pthread.h>
    static void *wait_for_ever(void *unused) { for (;;) pause(); return unused; }
    static void *die(void *unused) { raise(SIGSEGV); return unused; }
    static void be_many(void) {
        pthread_t thread;
        for (int i = 0; i < 12; i++) pthread_create(&thread, NULL, wait_for_ever, NULL);
        pthread_create(&thread, NULL, die, NULL);
        pthread_join(thread, NULL);
    }
    int main(void) {
        int status, other = 0;
        for (int i = 0; i < 40; i++) {
            pid_t child = fork();
            if (child == 0) be_many();
            waitpid(child, &status, 0);
            other += !WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV;
        }
        return other;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 0"


def test_programs_that_cannot_be_run(data: Path) -> None:
    tool = ("--memory-tool", str(TOOL))
    assert "not found" in record(data, ["no-such-program"], *tool, code=127).stderr
    (data / "plain").write_text("text")
    assert "cannot be executed" in record(data, ["./plain"], *tool, code=126).stderr
    assert "memory tracer" in record(data, ["true"], "--memory-tool", "/nowhere/tool", code=125).stderr


def test_a_script_and_what_it_starts(data: Path) -> None:
    body = r"""
    int main(void) { volatile unsigned char *p = map_file("f", 4096, 0, 0); p[1]++; return 0; }"""
    program = compile_c(data.parent, MAPPED + body)
    script = data.parent / "script"
    script.write_text(f"#!/bin/sh\necho one > a\n{program} && {program} | cat\n(sleep 0; {program}) &\nwait\n")
    script.chmod(0o755)
    run = record(data, [script], "--memory-tool", str(TOOL))
    assert run.trace.meta["exit"] == b"exited 0"
    assert [event.data for event in run.events(Kind.STORE)] == [b"\x01", b"\x02", b"\x03"]
    assert run.events(Kind.EXEC)[0].path == str(script).encode()
    assert_explained(run)


def test_python_that_starts_others(data: Path) -> None:
    """posix_spawn, vfork, threads and fork of an interpreter; its children are in the tool, too."""
    body = r"""
    int main(void) { volatile unsigned char *p = map_file("f", 4096, 0, 0); p[1]++; return 0; }"""
    program = compile_c(data.parent, MAPPED + body)
    script = data.parent / "script.py"
    script.write_text(
        "import os, subprocess, sys, threading\n"
        "program = sys.argv[1]\n"
        "subprocess.run([program], check=True)\n"
        "os.waitpid(os.posix_spawn(program, [program], {}), 0)\n"
        "thread = threading.Thread(target=subprocess.check_call, args=([program],))\n"
        "thread.start(); thread.join()\n"
        "if os.fork() == 0: os.execv(program, [program])\n"
        "sys.exit(os.wait()[1])\n"
    )
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    run = record(data, [python, "-S", script, program], "--memory-tool", str(TOOL))
    assert run.trace.meta["exit"] == b"exited 0"
    assert [event.data for event in run.events(Kind.STORE)] == [b"\x01", b"\x02", b"\x03", b"\x04"]
    assert_explained(run)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs rights to give up")
def test_programs_that_give_up_their_rights(data: Path) -> None:
    """What is executed later as another user still reaches the tracer."""
    body = r"""
    int main(void) { volatile unsigned char *p = map_file("f", 4096, 0, 0); p[1] = 7; return 0; }"""
    program = compile_c(data.parent, MAPPED + body)
    folder = Path(tempfile.mkdtemp(prefix="powercut-"))  # another user cannot reach pytest's folders
    try:
        folder.chmod(0o777)
        shutil.copy(program, folder / "program")
        (folder / "data").mkdir()
        (folder / "data").chmod(0o777)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", folder / "program"]
        run = record(folder / "data", command, "--memory-tool", str(TOOL))
        assert [event.data for event in run.events(Kind.STORE)] == [b"\x07"]
        assert_explained(run)
    finally:
        shutil.rmtree(folder)


def test_a_32_bit_program_runs_without_the_tool(data: Path) -> None:
    source, program = data.parent / "small.s", data.parent / "small"
    source.write_text(".globl _start\n_start: movl $1, %eax\nmovl $5, %ebx\nint $0x80\n")
    for command in (
        ["as", "--32", "-o", f"{program}.o", str(source)],
        ["ld", "-melf_i386", "-o", str(program), f"{program}.o"],
    ):
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("no tools for 32-bit programs")
    if subprocess.run([str(program)], check=False).returncode != 5:
        pytest.skip("no 32-bit programs here")
    run = record(data, ["sh", "-c", f"{program}; test $? = 5"], "--memory-tool", str(TOOL))
    assert run.trace.meta["exit"] == b"exited 0"
    assert run.trace.notes() == [f"{program} is a 32-bit program; its calls are not recorded"]


def test_questions_of_the_program_itself_are_not_answered(data: Path) -> None:
    body = r"""
    #include <sys/prctl.h>
    int main(void) {
        for (int question = 1; question < 7; question++)
            if (prctl(0x50435554, question, 0, 0, 0) != -1 || errno != EINVAL) return question;
        OK(write(must(open("f", O_CREAT | O_WRONLY, 0600)), "x", 1));
        return 0;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 0"
    assert_explained(run)
    plain = record(data, [data.parent / "program"])
    assert plain.trace.meta["exit"] == b"exited 0"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_full_disk(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned long *p = (unsigned long *)map_file("f", 4096, 0, 0);
        for (;;) (*p)++;
    }"""
    program = compile_c(data.parent, MAPPED + body)
    small = data.parent / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)], check=True)
    try:
        run = record(data, [program], "--memory-tool", str(TOOL), trace=small / "trace", code=125)
        assert "No space left" in run.stderr
        count = len(run.trace.of_kind(Kind.STORE))
        assert count > 50_000
        last = Event(run.trace, int(run.trace.of_kind(Kind.STORE)[-1]))
        assert int.from_bytes(last.data, "little") == count
        del run, last
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)

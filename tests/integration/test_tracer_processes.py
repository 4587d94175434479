"""Process trees, signals, ways to end, ways to fail: the tracer loses nothing and never hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from powercut.trace.layout import Flag, Kind
from powercut.trace.reader import Trace

from .tracer_kit import NATIVE, Recording, assert_replays, compile_c, record, tracer


def arguments(data: Path, *rest: str) -> list[str]:
    return [tracer(), "--output", str(data.parent / "run.trace"), "--dir", str(data), *rest]


def test_fork_and_exec_tree(data: Path) -> None:
    run = record(data, ["sh", "-c", "(echo one > a; cat a > b) & wait; /bin/cp b c"])
    assert_replays(run)
    assert (data / "c").read_bytes() == b"one\n"
    programs = [os.path.basename(e.path) for e in run.events(Kind.EXEC)]
    assert programs[0] in (b"dash", b"bash", b"sh")
    assert {b"cat", b"cp"} <= set(programs)
    children = {e.extra for e in run.events(Kind.FORK)}
    assert children | {run.events(Kind.EXEC)[0].pid} == {e.pid for e in run.events(Kind.EXIT)}
    first_seen = {}
    for event in run.events():
        first_seen.setdefault(event.pid, event.kind)
        if event.kind == Kind.FORK:
            assert event.extra not in first_seen


def test_exec_from_another_thread(data: Path) -> None:
    body = r"""
    static void *run(void *unused) { execl("/bin/sh", "sh", "-c", "echo from thread > t", NULL); return NULL; }
    int main(void) {
        pthread_t thread;
        OK(close(must(creat("before", 0600))));
        OK(pthread_create(&thread, NULL, run, NULL)); for (;;) pause();
    }"""
    run = record(data, [compile_c(data.parent, body)])
    assert_replays(run)
    assert (data / "t").exists()
    assert [e.flags for e in run.events(Kind.FORK)] == [Flag.THREAD]
    assert len(run.events(Kind.EXIT)) == 1


def test_leader_ends_before_its_threads(data: Path) -> None:
    body = r"""
    static void *run(void *unused) {
        usleep(100000);
        OK(write(must(open("late", O_CREAT | O_WRONLY, 0600)), "late", 4)); return NULL;
    }
    int main(void) { pthread_t thread; pthread_create(&thread, NULL, run, NULL); pthread_exit(NULL); }"""
    run = record(data, [compile_c(data.parent, body)])
    assert_replays(run)
    assert run.one(Kind.WRITE).data == b"late"


def test_signals_reach_the_program(data: Path) -> None:
    body = r"""
    static volatile int seen;
    static void on(int number) { seen++; OK(write(1, "s", 1)); }
    int main(void) {
        struct sigaction action = {.sa_handler = on};
        sigaction(SIGUSR1, &action, NULL); sigaction(SIGTRAP, &action, NULL); sigaction(SIGCONT, &action, NULL);
        int fd = must(open("f", O_CREAT | O_WRONLY, 0600));
        OK(raise(SIGUSR1)); OK(raise(SIGTRAP));
        pid_t child = fork();
        if (child == 0) { usleep(50000); kill(getppid(), SIGCONT); _exit(0); }
        OK(raise(SIGSTOP));
        OK(write(fd, "after", 5));
        waitpid(child, NULL, 0);
        if (seen != 3) return 8;
        raise(SIGSEGV);
    }"""
    run = record(data, [compile_c(data.parent, body)])
    assert run.trace.meta["exit"] == b"signaled 11"
    assert run.outputs == {1: b"sss"}
    assert_replays(run)


def test_interrupted_calls_are_recorded_once(data: Path) -> None:
    body = r"""
    static void on(int number) {}
    int main(void) {
        struct sigaction action = {.sa_handler = on, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval timer = {{0, 500}, {0, 500}};
        setitimer(ITIMER_REAL, &timer, NULL);
        int fd = must(open("f", O_CREAT | O_WRONLY | O_APPEND, 0600)), pipes[2];
        OK(pipe(pipes)); fcntl(pipes[1], F_SETPIPE_SZ, 4096);
        static char block[100000];
        if (fork() == 0) { while (read(pipes[0], block, 1000) > 0) usleep(100); _exit(0); }
        close(pipes[0]);
        for (int i = 0; i < 300; i++) { OK(write(fd, block, i)); OK(fsync(fd)); OK(write(pipes[1], block, 3000)); }
        return 0;
    }"""
    run = record(data, [compile_c(data.parent, "#include <signal.h>\n#include <sys/time.h>\n" + body)])
    assert_replays(run)
    assert len(run.events(Kind.WRITE)) == 299


def test_killed_while_others_wait(data: Path) -> None:
    """exit_group and SIGKILL in the midst of calls: the trace still explains the folder."""
    body = r"""
    static void *run(void *name) {
        for (;;) {
            int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600);
            OK(write(fd, "0123456789", 10)); close(fd);
        }
    }
    int main(void) {
        pthread_t thread;
        static char *names[] = {"a", "b", "c", "c"};
        for (int i = 0; i < 4; i++) pthread_create(&thread, NULL, run, names[i]);
        pid_t child = fork();
        if (child == 0) { run("d"); }
        usleep(100000); kill(child, SIGKILL); _exit(3);
    }"""
    run = record(data, [compile_c(data.parent, "#include <signal.h>\n" + body)])
    assert run.trace.meta["exit"] == b"exited 3"
    assert_replays(run)


def test_ways_to_end(data: Path) -> None:
    assert record(data, ["sh", "-c", "exit 7"]).trace.meta["exit"] == b"exited 7"
    assert record(data, ["sh", "-c", "kill -9 $$"]).trace.meta["exit"] == b"signaled 9"


def test_program_that_cannot_start(data: Path) -> None:
    missing = record(data, ["no-such-program"], code=127)
    assert missing.stderr == "powercut-ptrace: no-such-program: not found\n"
    (data / "text").write_text("text")
    denied = record(data, [data / "text"], code=126)
    assert denied.stderr.count("\n") == 1
    bad_folder = subprocess.run(arguments(data / "no", "--", "true"), capture_output=True, text=True)
    assert bad_folder.returncode == 125
    assert "data folder" in bad_folder.stderr


def test_meta(data: Path) -> None:
    meta = record(data, ["sh", "-c", "true"], "--cwd", "/").trace.meta
    assert meta["command"] == b"sh\0-c\0true"
    assert (meta["cwd"], meta["dir"], meta["tracer"]) == (b"/", os.fsencode(data), b"ptrace 1")
    assert abs(int(meta["started"]) - time.time()) < 60


def test_outputs_to_files(data: Path) -> None:
    out, err = data.parent / "out", data.parent / "err"
    run = record(data, ["sh", "-c", "echo said; echo wrong >&2"], "--stdout", str(out), "--stderr", str(err))
    assert run.outputs == {1: b"said\n", 2: b"wrong\n"}
    assert (out.read_bytes(), err.read_bytes()) == (b"said\n", b"wrong\n")


def test_background_processes_are_ended(data: Path) -> None:
    started = time.monotonic()
    run = record(data, ["sh", "-c", "(sleep 60; echo never > f) & echo soon > g"])
    assert 1 < time.monotonic() - started < 10
    assert "background" in run.trace.notes()[0]
    assert run.trace.meta["exit"] == b"exited 0"


def test_interrupt_ends_the_tree(data: Path) -> None:
    program = "echo $$ > pid; while true; do echo line >> f; done"
    with subprocess.Popen(arguments(data, "--no-stacks", "--", "sh", "-c", program), cwd=data) as process:
        while not (data / "f").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 130
    assert not Path(f"/proc/{(data / 'pid').read_text().strip()}").exists()
    run = Recording(130, Trace.open(data.parent / "run.trace"), data, "")
    assert not run.trace.truncated
    assert_replays(run)


def test_killing_the_tracer_leaves_a_prefix(data: Path) -> None:
    program = "i=0; while true; do i=$((i+1)); echo line $i >> f; done"
    with subprocess.Popen(arguments(data, "--", "sh", "-c", program), cwd=data) as process:
        while not (data / "f").exists() or (data / "f").stat().st_size < 3000:
            time.sleep(0.01)
        process.kill()
    time.sleep(0.05)  # the kernel kills the program with its tracer
    run = Recording(-9, Trace.open(data.parent / "run.trace"), data, "")
    assert run.trace.truncated
    written = b"".join(e.data for e in run.events(Kind.WRITE))
    content = (data / "f").read_bytes()
    assert content.startswith(written)
    assert len(content) - len(written) < 20  # at most the call in flight is missing


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_full_disk(data: Path) -> None:
    small = data.parent / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        program = ["python3", "-Sc", "f = open('f', 'wb', 0)\nfor i in range(10000): f.write(b'x' * 1000)"]
        run = record(data, program, trace=small / "trace", code=125)
        assert "No space left" in run.stderr
        assert len(run.events(Kind.WRITE)) > 100
        del run
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_attach(data: Path) -> None:
    """The way Python callables are recorded: the process enters its view, stops, and is attached to."""
    copy = data.parent / "copy"
    copy.mkdir()
    (copy / "old").write_bytes(b"old")
    body = f"""
    #include "{NATIVE}/view/view.c"
    #include "{NATIVE}/ptrace/filter.c"
    #include <signal.h>
    int main(int argc, char **argv) {{
        char error[256];
        if (pc_enter_view(argv[1], argv[2], error, sizeof error) != 0) {{ fputs(error, stderr); return 9; }}
        OK(chdir(argv[2]));
        raise(SIGSTOP);
        if (pc_install_filter() != 0) return 9;
        int fd = must(open("new", O_CREAT | O_WRONLY, 0600));
        OK(write(fd, "content", 7)); OK(rename("old", "older")); OK(write(1, "done", 4));
        if (fork() == 0) {{ OK(mkdir("by-child", 0700)); _exit(0); }}
        wait(NULL);
        return 4;
    }}"""
    program = compile_c(data.parent, body, f"-I{NATIVE}/view", f"-I{NATIVE}/ptrace")
    with subprocess.Popen([program, copy, data], stdout=subprocess.PIPE) as child:
        os.waitpid(child.pid, os.WUNTRACED)
        subprocess.run(arguments(data, "--attach", str(child.pid)), check=True, timeout=20)
        assert child.wait(timeout=10) == 4
    run = Recording(0, Trace.open(data.parent / "run.trace"), copy, "")
    assert run.trace.meta["exit"] == b"exited 4"
    assert_replays(run)
    assert run.outputs == {1: b"done"}
    assert [e.path for e in run.events(Kind.SNAP_FILE)] == [b"old"]
    assert list(data.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become somebody else")
def test_without_privilege(tmp_path: Path) -> None:
    folder = Path("/var/tmp") / f"powercut-test-{os.getpid()}"
    data, copy = folder / "data", folder / "copy"
    data.mkdir(parents=True)
    copy.mkdir()
    for path in (folder, data, copy):
        os.chown(path, 65534, 65534)
    try:
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        program = ["--cwd", str(data), "--", "sh", "-c", "echo one > a; mv a b; id -u > who"]
        options = ["--view", str(copy), "--no-stacks", *program]
        tool = folder / "tracer"
        tool.write_bytes(Path(tracer()).read_bytes())
        tool.chmod(0o755)
        command = [*nobody, str(tool), "--output", str(folder / "run.trace"), "--dir", str(data), *options]
        run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if "user namespaces" in run.stderr:
            pytest.skip(run.stderr)
        assert run.returncode == 0, run.stderr
        recording = Recording(0, Trace.open(folder / "run.trace"), copy, run.stderr)
        assert_replays(recording)
        assert (copy / "who").read_text() == "65534\n"
        assert not recording.trace.notes()
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_a_call_that_blocks_does_not_hold_up_the_others(data: Path) -> None:
    """A lease makes an open wait for its holder, which wants to change the data folder first."""
    body = r"""
    static void *opener(void *unused) { OK(close(must(open("leased", O_WRONLY | O_TRUNC)))); return NULL; }
    static void on(int number) {}
    int main(void) {
        pthread_t thread;
        OK(write(must(creat("leased", 0600)), "full", 4));
        for (int fd = 3; fd < 10; fd++) close(fd);
        struct sigaction action = {.sa_handler = on};
        sigaction(SIGIO, &action, NULL);
        int fd = must(open("leased", O_RDONLY));
        if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return 77;
        pthread_create(&thread, NULL, opener, NULL);
        while (fcntl(fd, F_GETLEASE) == F_RDLCK) usleep(1000);
        OK(write(must(creat("other", 0600)), "meanwhile", 9));
        OK(fcntl(fd, F_SETLEASE, F_UNLCK));
        pthread_join(thread, NULL);
        return 0;
    }"""
    started = time.monotonic()
    run = record(data, [compile_c(data.parent, "#include <signal.h>\n" + body)])
    if run.trace.meta["exit"] == b"exited 77":
        pytest.skip("no leases here")
    assert run.trace.meta["exit"] == b"exited 0"
    assert time.monotonic() - started < 10
    assert_replays(run)

"""The trace of real and random workloads, replayed onto the snapshot, gives the folder they left."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from powercut.trace.layout import Kind

from .tracer_kit import assert_replays, compile_c, record


def random_step(choice: random.Random) -> str:
    """One line of a random Python program on a few names; steps that fail are part of the game."""
    name, other = (choice.choice(["a", "b", "c", "d/a", "d/b", "e/a", "d", "e", "d/f"]) for _ in range(2))
    start, length = choice.randrange(0, 9000), choice.randrange(0, 5000)
    fill = f"bytes([{choice.randrange(256)}]) * {length}"
    mode = choice.choice(["O_WRONLY", "O_RDWR", "O_WRONLY | O_APPEND", "O_RDWR | O_TRUNC"])
    opened = f"os.open({name!r}, {mode} | O_CREAT, 0o644)"
    steps = [
        f"keep.append({opened})",
        f"os.pwrite(choose(), {fill}, {start})",
        f"os.write(choose(), {fill})",
        f"os.writev(choose(), [{fill}, b'end'])",
        f"os.lseek(choose(), {start}, 0)",
        "os.fsync(choose())",
        f"os.ftruncate(choose(), {start})",
        f"os.truncate({name!r}, {length})",
        f"os.posix_fallocate(choose(), {start}, {length + 1})",
        f"os.copy_file_range(os.open({other!r}, O_RDONLY), choose(), {length}, 0, {start})",
        f"os.sendfile(choose(), os.open({other!r}, O_RDONLY), 0, {length})",
        f"os.rename({name!r}, {other!r})",
        f"os.link({name!r}, {other!r})",
        f"os.symlink({name!r}, {other!r})",
        f"os.unlink({name!r})",
        f"os.mkdir({name!r})",
        f"os.rmdir({name!r})",
        f"os.chmod({name!r}, 0o6{choice.randrange(8)}4)",
        "os.close(keep.pop(0))",
    ]
    weights = [6, 4, 4, 2, 2, 1, 2, 1, 1, 2, 2, 4, 2, 1, 3, 2, 1, 1, 1]
    return choice.choices(steps, weights)[0]


def random_program(seed: int, steps: int) -> str:
    choice = random.Random(seed)
    lines = ["import os, random", "from os import *", "keep = []", f"pick = random.Random({seed})"]
    lines += ["def choose():", "    return pick.choice(keep)"]
    for _ in range(steps):
        lines += ["try:", f"    {random_step(choice)}", "except (OSError, IndexError):", "    pass"]
    return "\n".join(lines)


@pytest.mark.parametrize("options", [[], ["--no-shortcuts"]], ids=["", "plain"])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(data: Path, seed: int, options: list[str]) -> None:
    for name in ("a", "d", "e"):
        (data / name).mkdir() if name in "de" else (data / name).write_bytes(b"start" * 100)
    program = data.parent / "program.py"
    program.write_text(random_program(seed, 400))
    run = record(data, [sys.executable, "-S", program], *options)
    assert_replays(run)
    assert not run.trace.notes()
    assert len(run.events(Kind.WRITE)) > 20


def test_random_program_in_a_view(data: Path) -> None:
    """The program works on a copy that it sees in place of the folder."""
    copy = data.parent / "copy"
    copy.mkdir()
    (copy / "d").mkdir()
    program = data.parent / "program.py"
    program.write_text(random_program(99, 300))
    run = record(data, [sys.executable, "-S", program], "--view", str(copy), "--cwd", str(data))
    assert list(data.iterdir()) == []
    run.folder = copy
    assert_replays(run)
    assert run.trace.folder == str(data)


def test_git(data: Path) -> None:
    script = r"""
        set -e
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git init -q .
        for i in 1 2 3; do echo "line $i" >> file; git add file; git commit -q -m "commit $i"; done
        git checkout -q -b side; git mv file moved; git commit -q -a -m moved; git gc -q; git reset -q --hard HEAD~1
    """
    run = record(data, ["sh", "-c", script])
    assert run.trace.meta["exit"] == b"exited 0", run.stderr
    assert_replays(run)
    assert not run.trace.notes()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_sqlite(data: Path, journal: str) -> None:
    program = f"""
import sqlite3
with sqlite3.connect("db") as db:
    db.execute("pragma journal_mode={journal}")
    db.execute("create table t (a, b)")
for i in range(30):
    with db:
        db.execute("insert into t values (?, ?)", (i, "x" * 100 * i))
db.close()
"""
    run = record(data, [sys.executable, "-c", program])
    assert run.trace.meta["exit"] == b"exited 0", run.stderr
    assert_replays(run)
    assert run.events(Kind.FDATASYNC, Kind.FSYNC)


THREADS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
static void work(int number) {
    char block[300];
    std::string own = "own" + std::to_string(number), next = own + ".next";
    for (int i = 0; i < 150; i++) {
        int shared = open("shared", O_RDWR | O_CREAT, 0644), log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
        for (unsigned k = 0; k < sizeof block; k++) block[k] = (char)(number * 50 + i);
        if (pwrite(shared, block, sizeof block, (i * 37 + number * 11) % 2000) < 0) _exit(9);
        if (write(log, block, 10 + number) < 0) _exit(9);
        if (i % 10 == 0) fsync(log);
        int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (write(fd, block, i) < 0) _exit(9);
        close(fd); close(shared); close(log);
        rename(next.c_str(), i % 3 ? own.c_str() : "common");
        if (i % 7 == 0) unlink("common");
    }
}
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(work, i);
    for (auto &thread : threads) thread.join();
}
"""


@pytest.mark.parametrize("options", [[], ["--no-shortcuts"]], ids=["", "plain"])
def test_threads_are_put_in_the_order_of_their_effects(data: Path, options: list[str]) -> None:
    run = record(data, [compile_c(data.parent, THREADS, language="c++")], *options)
    assert_replays(run)
    assert not run.trace.notes()
    assert len({e.tid for e in run.events(Kind.WRITE)}) == 4


def test_processes_are_put_in_order_too(data: Path) -> None:
    body = r"""
    int main(void) {
        for (int p = 0; p < 4; p++)
            if (fork() == 0) {
                int fd = must(open("shared", O_RDWR | O_CREAT, 0600));
                int log = must(open("log", O_WRONLY | O_APPEND | O_CREAT, 0600));
                char block[64]; memset(block, 'a' + p, sizeof block);
                for (int i = 0; i < 200; i++) {
                    OK(pwrite(fd, block, sizeof block, i * 16)); OK(write(log, block, p + 1));
                }
                _exit(0);
            }
        while (wait(NULL) > 0) {}
        return 0;
    }"""
    run = record(data, [compile_c(data.parent, body)])
    assert_replays(run)
    assert len({e.pid for e in run.events(Kind.WRITE)}) == 4


def test_large_and_sparse(data: Path) -> None:
    with open(data / "sparse", "wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 39)
        file.write(b"island")
    with open(data / "big", "wb") as file:
        file.write(b"0123456789abcdef" * (3 << 16))
    run = record(data, ["python3", "-Sc", "open('new', 'wb').write(bytes(range(256)) * (1 << 17))"])
    snapshot = [e for e in run.events(Kind.SNAP_DATA) if e.inode == (data / "sparse").stat().st_ino]
    assert 0 < sum(e.length for e in snapshot) <= 1 << 20
    (data / "sparse").unlink()
    written = b"".join(e.data for e in run.events(Kind.WRITE))
    assert written == (data / "new").read_bytes()

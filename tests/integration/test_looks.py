"""The watcher sees every look at the data folder, and says what it does not understand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from powercut.native_programs import call_tracer
from powercut.trace.layout import DATA, EXTRA, INODE, KIND, LENGTH, OFFSET, PATH, Kind
from powercut.trace.reader import Trace

TO_THE_END = (1 << 63) - 1


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a little of everything."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("content")
    (folder / "sub" / "inner").write_text("inner")
    (folder / "link").symlink_to("sub/inner")
    (folder / "script").write_text("#!/bin/sh\nexit 7\n")
    (folder / "script").chmod(0o755)
    (tmp_path / "outside").symlink_to(folder / "sub")
    return folder


def watch(data: Path, program: str) -> Trace:
    """Watch a Python program that runs in the data folder."""
    output = data.parent / "looks"
    watcher = [call_tracer(), "--looks", "--output", output, "--dir", data, "--cwd", data, "--"]
    subprocess.run([*watcher, sys.executable, "-S", "-E", "-c", program], check=True, timeout=30)
    return Trace.open(output)


def looks(data: Path, program: str) -> list[tuple[object, ...]]:
    """What a program looked at: kinds with paths, and offsets and lengths of what has them."""
    names = {path.stat().st_ino: str(path.relative_to(data)) for path in [data, *data.rglob("*")] if path.exists()}
    names[(data / "link").lstat().st_ino] = "link"
    trace, found = watch(data, program), []
    for event in trace.written.tolist():
        kind = Kind(event[KIND])
        if kind is Kind.LOOK_NAME and event[INODE] in names:
            found.append((kind, names[event[INODE]], trace.string(event[PATH]).decode(), names.get(event[EXTRA])))
        elif kind in (Kind.LOOK_DATA, Kind.LOOK_MAP, Kind.LOOK_CUT, Kind.LOOK_PAGES) and event[INODE] in names:
            found.append((kind, names[event[INODE]], event[OFFSET], event[LENGTH]))
        elif kind > Kind.LOOK_NAME and event[INODE] in names:
            found.append((kind, names[event[INODE]]))
    assert not notes(trace)
    return found


def notes(trace: Trace) -> list[str]:
    return [trace.blob(e[DATA], e[LENGTH]).decode() for e in trace.written.tolist() if e[KIND] == Kind.NOTE]


SEEN = {
    "os.access('file', 0)": [(Kind.LOOK_NAME, ".", "file", "file")],
    "os.access('none', 0)": [(Kind.LOOK_NAME, ".", "none", None)],
    "os.access('link', 0)": [
        (Kind.LOOK_NAME, ".", "link", "link"),
        (Kind.LOOK_NAME, ".", "sub", "sub"),
        (Kind.LOOK_NAME, "sub", "inner", "sub/inner"),
    ],
    "os.access('../outside/../file', 0)": [(Kind.LOOK_NAME, ".", "sub", "sub"), (Kind.LOOK_NAME, ".", "file", "file")],
    "os.access('/proc/self/cwd/file', 0)": [(Kind.LOOK_NAME, ".", "file", "file")],
    "os.chdir('sub'); os.access('inner', 0)": [
        (Kind.LOOK_NAME, ".", "sub", "sub"),
        (Kind.LOOK_NAME, "sub", "inner", "sub/inner"),
    ],
    "os.stat('file')": [(Kind.LOOK_NAME, ".", "file", "file"), (Kind.LOOK_FACTS, "file")],
    "os.listdir('.')": [(Kind.LOOK_LIST, ".")],
    "os.rmdir('sub')": [(Kind.LOOK_LIST, "sub")],
    "os.rename('file', 'sub')": [(Kind.LOOK_NAME, ".", "file", "file"), (Kind.LOOK_LIST, "sub")],
    "os.getxattr('file', 'user.x')": [(Kind.LOOK_ATTRIBUTES, "file")],
    "f = os.open('file', 0); os.lseek(f, 2, 0); os.read(f, 3)": [(Kind.LOOK_DATA, "file", 2, 3)],
    "f = os.open('file', 0); os.pread(f, 5, 1)": [(Kind.LOOK_DATA, "file", 1, 5)],
    "f = os.open('file', 0); os.preadv(f, [bytearray(3), bytearray(4)], 1)": [(Kind.LOOK_DATA, "file", 1, 7)],
    "f = os.open('file', 0); os.lseek(f, 0, 2)": [(Kind.LOOK_FACTS, "file")],
    "f = os.open('file', 0); os.sendfile(1, f, 2, 3)": [(Kind.LOOK_DATA, "file", 2, 3)],
    "f = os.open('file', 0); os.lseek(f, 0, os.SEEK_DATA)": [(Kind.LOOK_UNSURE, "file")],
    "f = os.open('file', 2); os.ftruncate(f, 3)": [(Kind.LOOK_CUT, "file", 0, 3)],
    "f = os.open('file', os.O_WRONLY | os.O_APPEND); os.write(f, b'x')": [(Kind.LOOK_FACTS, "file")],
    "import mmap; f = os.open('file', 0); mmap.mmap(f, 7, prot=1)": [(Kind.LOOK_MAP, "file", 0, 4096)],
    "os.waitpid(os.posix_spawn('./script', ['x'], {}), 0)": [
        (Kind.LOOK_NAME, ".", "script", "script"),
        (Kind.LOOK_DATA, "script", 0, TO_THE_END),
    ],
    "f = os.open('file', 0); os.fork() or os._exit(0); os.wait(); os.read(f, 1)": [
        (Kind.LOOK_DATA, "file", 0, TO_THE_END)
    ],
}


@pytest.mark.parametrize("program", SEEN)
def test_looks_are_seen(data: Path, program: str) -> None:
    quietly = f"import os\ntry:\n    {program}\nexcept OSError:\n    pass"
    found = looks(data, quietly)
    assert [look for look in SEEN[program] if look not in found] == [], found


def test_what_cannot_fail_is_no_news(data: Path) -> None:
    """Growing may fail, and so may a call through a descriptor that only reads."""
    program = "import os\nf = os.open('file', 2); os.ftruncate(f, 99)\n"
    program += "f = os.open('file', 0)\ntry:\n    os.ftruncate(f, 1)\nexcept OSError:\n    pass"
    assert not [look for look in looks(data, program) if look[0] is Kind.LOOK_CUT]


NOT_UNDERSTOOD = {
    "ctypes.CDLL(None).syscall(425, 4, 0)": "it uses unknown system call 425",  # io_uring_setup
    "ctypes.CDLL(None).chroot(b'.')": "it uses unknown system call 161",
    "ctypes.CDLL(None).ptrace(0, 0, 0, 0)": "it uses unknown system call 101",
    "ctypes.CDLL(None).open(1, 0)": "it uses a name that could not be read",
    "ctypes.CDLL(None).shmget(7, 4096, 0o1000)": "it uses unknown system call 29",  # IPC_CREAT: perhaps another's
    "socket.create_connection(socket.create_server(('127.0.0.1', 0)).getsockname())": "it talks to another process",
}


@pytest.mark.parametrize("program", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_said(data: Path, program: str) -> None:
    (note,) = notes(watch(data, f"import ctypes, socket\n{program}"))
    assert note.startswith(NOT_UNDERSTOOD[program])


def test_nobody_at_the_other_end_is_understood(data: Path) -> None:
    """The C library asks for a name service that is rarely there."""
    program = "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('none')\nexcept OSError:\n    pass"
    assert (Kind.LOOK_NAME, ".", "none", None) in looks(data, program)


@pytest.mark.parametrize("segment", ["0, 4096, 0o600", "os.getpid(), 4096, 0o3600"], ids=["private", "exclusive"])
def test_a_segment_of_its_own_is_understood(data: Path, segment: str) -> None:
    """PostgreSQL's single-user mode makes one that must be new; nobody else has put anything into it."""
    program = (
        f"import ctypes, os\nc = ctypes.CDLL(None)\nc.shmat.restype = ctypes.c_void_p\nhere = c.shmget({segment})\n"
    )
    program += (
        "at = c.shmat(here, None, 0)\nc.shmctl(here, 0, None)\nc.shmdt(ctypes.c_void_p(at))\nos.access('file', 0)"
    )
    assert (Kind.LOOK_NAME, ".", "file", "file") in looks(data, program)


def test_how_it_ends_is_told(data: Path) -> None:
    assert watch(data, "import os; os._exit(7)").meta["exit"] == b"exited 7"
    assert watch(data, "import os; os.kill(os.getpid(), 9)").meta["exit"] == b"signaled 9"


def test_a_program_in_the_background_is_not_waited_for(data: Path) -> None:
    program = "import os, time\nif os.fork() == 0:\n    open('../child', 'w').write(str(os.getpid()))\n"
    program += "    time.sleep(60)\nwhile not os.path.exists('../child') or not open('../child').read():\n    pass"
    assert watch(data, program).meta["exit"] == b"exited 0"
    os.kill(int((data.parent / "child").read_text()), signal.SIGKILL)

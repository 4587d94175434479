"""What the tracer's tests share: building programs, recording them, and replaying a trace naively.

`Replay` is the strongest witness there is: the snapshot with all events applied in order must be the folder that the
program really left, byte for byte.
"""

from __future__ import annotations

import functools
import os
import stat
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from powercut.trace.layout import Flag, Kind
from powercut.trace.reader import Trace

NATIVE = Path(__file__).resolve().parents[2] / "native"

PRELUDE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#define OK(call) ((call) < 0 ? (perror(#call), exit(9), 0) : 0)
static inline int must(int fd) { if (fd < 0) { perror("must"); exit(9); } return fd; }
"""


@functools.cache
def tracer() -> str:
    """The tracer to test: named by the environment, installed, or built here."""
    named = os.environ.get("POWERCUT_PTRACE")
    if named:
        return named
    installed = Path(sysconfig.get_paths()["platlib"]) / "powercut" / "_native" / "powercut-ptrace"
    if installed.exists():
        return str(installed)
    target = Path(tempfile.mkdtemp(prefix="powercut-tracer-")) / "powercut-ptrace"
    sources = [*sorted((NATIVE / "ptrace").rglob("*.c")), NATIVE / "view" / "view.c"]
    folders = [NATIVE, NATIVE / "ptrace", NATIVE / "view"]
    subprocess.run(["gcc", "-O1", *(f"-I{f}" for f in folders), *map(str, sources), "-o", str(target)], check=True)
    return str(target)


def compile_c(folder: Path, body: str, *flags: str, language: str = "c") -> str:
    """Compile a program of this text; the path of the executable."""
    source = folder / f"program.{'cc' if language == 'c++' else 'c'}"
    target = folder / "program"
    source.write_text((PRELUDE if language == "c" else "") + body)
    compiler = "g++" if language == "c++" else "gcc"
    subprocess.run([compiler, "-O1", "-g", *flags, str(source), "-o", str(target), "-pthread"], check=True)
    return str(target)


@dataclass
class Recording:
    """One traced run."""

    code: int
    trace: Trace
    folder: Path
    stderr: str

    def events(self, *kinds: Kind) -> list[Event]:
        found = (Event(self.trace, i) for i in range(len(self.trace.events)))
        return [e for e in found if not kinds or e.kind in kinds]

    def one(self, kind: Kind) -> Event:
        (event,) = self.events(kind)
        return event

    @property
    def outputs(self) -> dict[int, bytes]:
        said: dict[int, bytes] = {}
        for event in self.events(Kind.OUTPUT):
            said[event.extra] = said.get(event.extra, b"") + event.data
        return said


class Event:
    """One event with its blobs and names looked up."""

    def __init__(self, trace: Trace, number: int) -> None:
        record = trace.events[number]
        self.kind = Kind(int(record["kind"]))
        self.flags = Flag(int(record["flags"]))
        for field in ("pid", "tid", "stack", "inode", "offset", "length", "extra"):
            setattr(self, field, int(record[field]))
        self.path = trace.string(int(record["path"])) if record["path"] else None
        self.path2 = trace.string(int(record["path2"])) if record["path2"] else None
        self.data = trace.blob(int(record["data"]), int(record["length"])) if record["data"] else b""

    def __getattr__(self, name: str) -> int:
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<{self.kind.name} {self.path} {self.path2} inode={self.inode} {self.offset}+{self.length}>"


def record(
    folder: Path,
    command: Sequence[str | Path],
    *options: str,
    trace: Path | None = None,
    code: int | None = 0,
    stacks: bool = False,
    **settings: object,
) -> Recording:
    """Run the tracer on a command."""
    output = trace or folder.parent / "run.trace"
    arguments = [tracer(), "--output", str(output), "--dir", str(folder), *options, "--"]
    arguments[5:5] = [] if stacks else ["--no-stacks"]
    run = subprocess.run(
        [*arguments, *map(str, command)], capture_output=True, text=True, timeout=60, **{"cwd": folder, **settings}
    )
    if code is not None:
        assert run.returncode == code, run.stderr
    return Recording(run.returncode, Trace.open(output), folder, run.stderr)


class Replay:
    """A folder in memory, to which the events of a trace are applied one by one."""

    def __init__(self, recording: Recording) -> None:
        self.names: dict[bytes, int] = {}
        self.modes: dict[int, int] = {}
        self.files: dict[int, bytearray] = {}
        self.links: dict[int, bytes] = {}
        for event in recording.events():
            apply = getattr(self, "on_" + event.kind.name.lower(), None)
            if apply:
                apply(event)

    def on_snap_dir(self, e: Event) -> None:
        self.names[e.path] = e.inode
        self.modes[e.inode] = e.extra

    def on_mkdir(self, e: Event) -> None:
        self.files.pop(e.inode, None)  # inode numbers come back
        self.links.pop(e.inode, None)
        self.on_snap_dir(e)

    on_snap_other = on_mknod = on_mkdir

    def on_snap_file(self, e: Event) -> None:
        self.on_snap_dir(e)
        self.files.setdefault(e.inode, bytearray(e.length))

    def on_create(self, e: Event) -> None:
        self.modes[e.inode] = e.extra
        self.links.pop(e.inode, None)
        self.files[e.inode] = bytearray()
        if e.path is not None:
            assert e.path not in self.names, e
            self.names[e.path] = e.inode

    def on_write(self, e: Event) -> None:
        assert len(e.data) == e.length
        self._resize(e.inode, max(len(self.files[e.inode]), e.offset + e.length))
        self.files[e.inode][e.offset : e.offset + e.length] = e.data

    on_snap_data = on_write

    def on_snap_symlink(self, e: Event) -> None:
        self.names[e.path] = e.inode
        self.files.pop(e.inode, None)
        self.links[e.inode] = e.data
        self.modes[e.inode] = stat.S_IFLNK | 0o777

    on_symlink = on_snap_symlink

    def on_link(self, e: Event) -> None:
        if e.path is not None:
            assert self.names[e.path] == e.inode
        assert e.path2 not in self.names
        self.names[e.path2] = e.inode

    def on_unlink(self, e: Event) -> None:
        assert self.names.pop(e.path) == e.inode
        if not e.flags & Flag.EXPORT:
            assert sum(inode == e.inode for inode in self.names.values()) == e.extra, e

    def on_rmdir(self, e: Event) -> None:
        assert self.names.pop(e.path) == e.inode

    def on_rename(self, e: Event) -> None:
        assert self.names[e.path] == e.inode
        assert self.names.get(e.path2, 0) == e.extra
        old, new = self._take(e.path), self._take(e.path2)
        self.names |= {e.path2 + rest: inode for rest, inode in old.items()}
        if e.flags & Flag.EXCHANGE:
            self.names |= {e.path + rest: inode for rest, inode in new.items()}

    def on_truncate(self, e: Event) -> None:
        assert len(self.files[e.inode]) == e.extra, e
        self._resize(e.inode, e.length)

    def on_setattr(self, e: Event) -> None:
        self.modes[e.inode] = e.extra

    def on_fallocate(self, e: Event) -> None:
        data, end = self.files[e.inode], e.offset + e.length
        keep, punch, collapse, zero, insert = (e.extra & bit for bit in (1, 2, 8, 16, 32))
        if collapse:
            del data[e.offset : end]
            return
        if insert:
            data[e.offset : e.offset] = bytes(e.length)
            return
        if not keep:
            self._resize(e.inode, max(len(data), end))
        if punch or zero:
            data[e.offset : end] = bytes(len(data[e.offset : end]))

    def _resize(self, inode: int, size: int) -> None:
        data = self.files[inode]
        del data[size:]
        data.extend(bytes(size - len(data)))

    def _take(self, path: bytes) -> dict[bytes, int]:
        """Remove a name and all below it; what followed the name, with the inodes."""
        taken = {n: i for n, i in self.names.items() if n == path or n.startswith(path + b"/")}
        for name in taken:
            del self.names[name]
        return {name[len(path) :]: inode for name, inode in taken.items()}

    def tree(self) -> dict[bytes, tuple[int, bytes]]:
        content = {**self.files, **self.links}
        return {name: (self.modes[i], bytes(content.get(i, b""))) for name, i in self.names.items()}


def real_tree(folder: Path) -> dict[bytes, tuple[int, bytes]]:
    """The folder as it is, in the form of `Replay.tree`."""
    root = os.fsencode(folder)
    found = {b"": (os.stat(root).st_mode, b"")}
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            content = b""
            if stat.S_ISREG(mode):
                content = Path(os.fsdecode(path)).read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.readlink(path)
            found[os.path.relpath(path, root)] = (mode, content)
    return found


def assert_replays(recording: Recording) -> None:
    """The trace explains the folder completely."""
    replayed, real = Replay(recording).tree(), real_tree(recording.folder)
    assert sorted(replayed) == sorted(real)
    for name, (mode, content) in real.items():
        assert replayed[name][0] == mode, name
        assert replayed[name][1] == content, name

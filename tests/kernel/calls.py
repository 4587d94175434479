"""The calls of a workload as lines of text: made on a real folder, and told as a trace.

A workload is a list of lines, each a call or, behind `~`, something that other programs or the kernel do and that the
program under test knows nothing of. The same lines are performed on a real file system (`perform`), told as the trace
that powercut would have recorded (`Story`), and kept in the ledger.

  create P         mkdir P            rmdir P           unlink P           symlink TARGET P
  link P NEW       rename P NEW       exchange P Q      tmpfile T          linktmp T NEW
  write P AT N [append|sync|dsync|direct]               truncate P SIZE    chmod P MODE
  falloc P AT N [keep|punch|zero|zerokeep]              setxattr P NAME VALUE          delxattr P NAME
  store P AT N     msync P AT N       fsync P           fdatasync P        syncfs             sync
  ~writeback P AT N [wait]            ~commit           ~fsync
A path `.` is the data folder itself. Each write has a letter of its own: A for line 0, B for line 1 and so on.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

from powercut.trace.layout import Flag, Kind, MemoryKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD, _EXCHANGE, _AT_SYMLINK_FOLLOW = -100, 2, 0x400
_FALLOC = {"": 0, "keep": 1, "punch": 3, "zero": 16, "zerokeep": 17}
_WRITE = {"": 0, "append": os.O_APPEND, "sync": os.O_SYNC, "dsync": os.O_DSYNC, "direct": os.O_DIRECT}
_WRITE_FLAGS = {"": 0, "append": Flag.APPEND, "sync": Flag.SYNC, "dsync": Flag.DSYNC, "direct": Flag.DIRECT}
_START_SYNC, _WAIT_SYNC = 0x80089418, 0x40089416  # btrfs's periodic commit, on demand
BLOCK = 4096

# What the data folder holds before a workload: path -> content, None for a folder, a number for so many bytes that
# are allocated and were never written.
START: dict[str, bytes | int | None] = {
    "a": b"@" * 5000,
    "b": b"?" * 5000,
    "s": None,
    "s/e": b"!!!",
    "z": 3 * BLOCK,
}


class InvalidCall(Exception):
    """A call that would fail."""


def letter(number: int) -> bytes:
    """What line `number` of a workload writes."""
    return bytes([ord("A") + number % 26])


def is_background(line: str) -> bool:
    """Whether a line is nothing that the program does."""
    return line.startswith("~")


def populate(folder: Path) -> None:
    """Make the start of every workload."""
    for path, content in START.items():
        if content is None:
            (folder / path).mkdir()
        elif isinstance(content, int):
            with (folder / path).open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, content)
        else:
            (folder / path).write_bytes(content)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


class Performer:
    """Makes the calls of a workload on a real folder.

    `hold`, files stay open until the end, so that no close starts anything.
    """

    def __init__(self, folder: Path, elsewhere: Path, *, hold: bool) -> None:
        self._folder = folder
        self._elsewhere = elsewhere
        self._hold = hold
        self._open: list[int] = []
        self._unnamed: dict[str, int] = {}
        self._maps: list[mmap.mmap] = []

    def perform(self, number: int, line: str) -> None:
        """Make the call of a line; an OSError says that it failed."""
        what, *words = line.split(" ")
        getattr(self, "_" + what.lstrip("~").replace("-", "_") + ("_behind" if is_background(line) else ""))(
            number, *words
        )

    def close(self) -> None:
        for mapping in self._maps:
            mapping.close()
        for descriptor in [*self._open, *self._unnamed.values()]:
            os.close(descriptor)

    def _path(self, path: str) -> str:
        return os.path.join(self._folder, path)

    def _with(self, path: str, flags: int) -> int:
        """A descriptor of a file, open until the next call or until the end."""
        if path in self._unnamed:
            return os.dup(self._unnamed[path])
        return os.open(self._path(path), flags | os.O_CLOEXEC, 0o644)

    def _done(self, descriptor: int) -> None:
        if self._hold:
            self._open.append(descriptor)
        else:
            os.close(descriptor)

    def _create(self, number: int, path: str) -> None:
        self._done(self._with(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))

    def _mkdir(self, number: int, path: str) -> None:
        os.mkdir(self._path(path), 0o755)

    def _rmdir(self, number: int, path: str) -> None:
        os.rmdir(self._path(path))

    def _unlink(self, number: int, path: str) -> None:
        os.unlink(self._path(path))

    def _symlink(self, number: int, target: str, path: str) -> None:
        os.symlink(target, self._path(path))

    def _link(self, number: int, old: str, new: str) -> None:
        os.link(self._path(old), self._path(new))

    def _rename(self, number: int, old: str, new: str) -> None:
        os.rename(self._path(old), self._path(new))

    def _exchange(self, number: int, old: str, new: str) -> None:
        paths = [self._path(path).encode() for path in (old, new)]
        if _LIBC.renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")

    def _tmpfile(self, number: int, name: str) -> None:
        self._unnamed[name] = os.open(self._folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o644)

    def _linktmp(self, number: int, name: str, new: str) -> None:
        source = f"/proc/self/fd/{self._unnamed[name]}"
        if _LIBC.linkat(_AT_FDCWD, source.encode(), _AT_FDCWD, self._path(new).encode(), _AT_SYMLINK_FOLLOW) != 0:
            raise OSError(ctypes.get_errno(), "linkat")

    def _write(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        descriptor = self._with(path, os.O_WRONLY | _WRITE[how])
        try:
            if how == "append":
                os.write(descriptor, letter(number) * int(count))
            elif how == "direct":
                buffer = mmap.mmap(-1, int(count))  # direct I/O wants its memory aligned
                buffer.write(letter(number) * int(count))
                os.pwritev(descriptor, [buffer], int(at))
            else:
                os.pwrite(descriptor, letter(number) * int(count), int(at))
        finally:
            self._done(descriptor)

    def _truncate(self, number: int, path: str, size: str) -> None:
        descriptor = self._with(path, os.O_WRONLY)
        os.ftruncate(descriptor, int(size))
        self._done(descriptor)

    def _falloc(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        descriptor = self._with(path, os.O_WRONLY)
        arguments = (_FALLOC[how], ctypes.c_long(int(at)), ctypes.c_long(int(count)))
        if _LIBC.fallocate(descriptor, *arguments) != 0:
            raise OSError(ctypes.get_errno(), "fallocate")
        self._done(descriptor)

    def _chmod(self, number: int, path: str, mode: str) -> None:
        os.chmod(self._path(path), int(mode, 8))

    def _setxattr(self, number: int, path: str, name: str, value: str) -> None:
        os.setxattr(self._path(path), "user." + name, value.encode())

    def _delxattr(self, number: int, path: str, name: str) -> None:
        os.removexattr(self._path(path), "user." + name)

    def _mapped(self, path: str) -> mmap.mmap:
        descriptor = self._with(path, os.O_RDWR)
        mapping = mmap.mmap(descriptor, 0)
        os.close(descriptor)
        self._maps.append(mapping)
        return mapping

    def _store(self, number: int, path: str, at: str, count: str) -> None:
        self._mapped(path)[int(at) : int(at) + int(count)] = letter(number) * int(count)

    def _msync(self, number: int, path: str, at: str, count: str) -> None:
        mapping = self._mapped(path)
        first = int(at) // BLOCK * BLOCK
        mapping.flush(first, min(int(at) + int(count), len(mapping)) - first)

    def _fsync(self, number: int, path: str) -> None:
        descriptor = self._with(path, os.O_RDONLY)
        os.fsync(descriptor)
        self._done(descriptor)

    def _fdatasync(self, number: int, path: str) -> None:
        descriptor = self._with(path, os.O_RDONLY)
        os.fdatasync(descriptor)
        self._done(descriptor)

    def _syncfs(self, number: int) -> None:
        descriptor = self._with(".", os.O_RDONLY)
        if _LIBC.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs")
        self._done(descriptor)

    _sync = _syncfs  # a real sync(2) would sync the whole machine

    def _writeback_behind(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        descriptor = self._with(path, os.O_RDONLY)
        _LIBC.sync_file_range(descriptor, ctypes.c_long(int(at)), ctypes.c_long(int(count)), 7 if how == "wait" else 2)
        os.close(descriptor)

    def _commit_behind(self, number: int) -> None:
        """What happens every few seconds: the journal, or the transaction, is committed."""
        descriptor = os.open(self._elsewhere, os.O_RDONLY)
        try:
            committed = bytearray(struct.pack("=Q", 0))
            fcntl.ioctl(descriptor, _START_SYNC, committed)
            fcntl.ioctl(descriptor, _WAIT_SYNC, bytes(committed))
        except OSError:
            self._fsync_behind(number)  # no btrfs: somebody's fsync commits the journal
        finally:
            os.close(descriptor)

    def _fsync_behind(self, number: int) -> None:
        """Another program makes a file of its own, elsewhere, and syncs it."""
        descriptor = os.open(self._elsewhere / f"new{number}", os.O_CREAT | os.O_WRONLY)
        os.fsync(descriptor)
        os.close(descriptor)


@dataclass
class Story:
    """A workload as powercut would have recorded it.

    Attributes:
        events: line -> the number of its event.
    """

    writer: TraceWriter = field(default_factory=TraceWriter)
    events: dict[int, int] = field(default_factory=dict)
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    folders: set[int] = field(default_factory=lambda: {1})
    links: set[int] = field(default_factory=set)
    size: dict[int, int] = field(default_factory=dict)
    attributes: set[tuple[int, str]] = field(default_factory=set)
    unnamed: dict[str, int] = field(default_factory=dict)
    next: int = 2
    _next_event: int = 0

    def __post_init__(self) -> None:
        self._event(Kind.SNAP_DIR, inode=1, path=b"", extra=0o40755)
        for path, content in START.items():
            if content is None:
                self._event(Kind.SNAP_DIR, inode=self._new(path), path=path.encode(), extra=0o40755)
                self.folders.add(self.next - 1)
                continue
            inode = self._new(path)
            length = content if isinstance(content, int) else len(content)
            self.size[inode] = length
            self._event(Kind.SNAP_FILE, inode=inode, path=path.encode(), extra=0o100644, length=length)
            if isinstance(content, bytes):
                self._event(Kind.SNAP_DATA, inode=inode, data=content)

    def trace(self) -> Trace:
        """The trace of all that was told."""
        return self.writer.trace()

    def tell(self, number: int, line: str) -> None:
        """Tell a line; InvalidCall says that the call would fail."""
        if is_background(line):
            what, *words = line.split(" ")
            if words:
                self._file(words[0])
            return
        what, *words = line.split(" ")
        getattr(self, "_" + what)(number, *words)
        self.events[number] = self._next_event - 1

    def paths(self, folder: int = 1, prefix: str = "") -> dict[str, int]:
        """All paths of the moment and what they stand for."""
        found = {}
        for (parent, name), inode in sorted(self.names.items()):
            if parent == folder:
                found[prefix + name] = inode
                if inode in self.folders:
                    found |= self.paths(inode, prefix + name + "/")
        return found

    def _event(self, kind: Kind, **fields: object) -> None:
        self.writer.event(kind, **fields)  # type: ignore[arg-type]
        self._next_event += 1

    def _new(self, path: str) -> int:
        place = self._free(path)
        self.names[place] = self.next
        self.next += 1
        return self.next - 1

    def _place(self, path: str) -> tuple[int, str]:
        folder, (*parents, name) = 1, path.split("/")
        for part in parents:
            folder = self.names.get((folder, part), -1)
            if folder not in self.folders:
                raise InvalidCall(path)
        return folder, name

    def _free(self, path: str) -> tuple[int, str]:
        place = self._place(path)
        if place in self.names:
            raise InvalidCall(path)
        return place

    def _inode(self, path: str) -> int:
        if path == ".":
            return 1
        if path in self.unnamed:
            return self.unnamed[path]
        inode = self.names.get(self._place(path))
        if inode is None:
            raise InvalidCall(path)
        return inode

    def _entry(self, path: str) -> tuple[int, tuple[int, str]]:
        """What a name stands for, and where it is."""
        place = self._place(path)
        if place not in self.names:
            raise InvalidCall(path)
        return self.names[place], place

    def _file(self, path: str) -> int:
        inode = self._inode(path)
        if inode not in self.size:
            raise InvalidCall(path)
        return inode

    def _create(self, number: int, path: str) -> None:
        inode = self._new(path)
        self.size[inode] = 0
        self._event(Kind.CREATE, inode=inode, path=path.encode(), extra=0o100644)

    def _mkdir(self, number: int, path: str) -> None:
        inode = self._new(path)
        self.folders.add(inode)
        self._event(Kind.MKDIR, inode=inode, path=path.encode(), extra=0o40755)

    def _rmdir(self, number: int, path: str) -> None:
        inode, place = self._entry(path)
        if inode not in self.folders or any(parent == inode for parent, _ in self.names):
            raise InvalidCall(path)
        del self.names[place]
        self._event(Kind.RMDIR, inode=inode, path=path.encode())

    def _unlink(self, number: int, path: str) -> None:
        inode, place = self._entry(path)
        if inode in self.folders:
            raise InvalidCall(path)
        del self.names[place]
        self._event(Kind.UNLINK, inode=inode, path=path.encode())

    def _symlink(self, number: int, target: str, path: str) -> None:
        inode = self._new(path)
        self.links.add(inode)
        self._event(Kind.SYMLINK, inode=inode, path=path.encode(), data=target.encode(), extra=0o120777)

    def _link(self, number: int, old: str, new: str) -> None:
        inode, place = self._entry(old)[0], self._free(new)
        if inode in self.folders:
            raise InvalidCall(old)
        self.names[place] = inode
        self._event(Kind.LINK, inode=inode, path=old.encode(), path2=new.encode())

    def _rename(self, number: int, old: str, new: str) -> None:
        (inode, source), target = self._entry(old), self._place(new)
        replaced = self.names.get(target)
        is_folder = inode in self.folders
        if replaced == inode or (is_folder and (new + "/").startswith(old + "/")):
            raise InvalidCall(new)
        if replaced is not None and (replaced in self.folders or is_folder):
            empty = replaced in self.folders and is_folder and not any(p == replaced for p, _ in self.names)
            if not empty:
                raise InvalidCall(new)
        del self.names[source]
        self.names[target] = inode
        self._event(Kind.RENAME, inode=inode, path=old.encode(), path2=new.encode())

    def _exchange(self, number: int, old: str, new: str) -> None:
        (inode, source), (other, target) = self._entry(old), self._entry(new)
        if inode == other or old.startswith(new + "/") or new.startswith(old + "/"):
            raise InvalidCall(new)
        self.names[source], self.names[target] = other, inode
        self._event(Kind.RENAME, inode=inode, path=old.encode(), path2=new.encode(), flags=Flag.EXCHANGE)

    def _tmpfile(self, number: int, name: str) -> None:
        if name in self.unnamed or (1, name) in self.names:
            raise InvalidCall(name)
        inode = self.unnamed[name] = self.next
        self.next += 1
        self.size[inode] = 0
        self._event(Kind.CREATE, inode=inode, path=b"", extra=0o100644, flags=Flag.TMPFILE)

    def _linktmp(self, number: int, name: str, new: str) -> None:
        if name not in self.unnamed or self.unnamed[name] in self.names.values():
            raise InvalidCall(name)
        self.names[self._free(new)] = self.unnamed[name]
        self._event(Kind.LINK, inode=self.unnamed[name], path=b"", path2=new.encode())

    def _write(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        inode = self._file(path)
        if path in self.unnamed and how:
            raise InvalidCall(path)  # its one descriptor has no such flag
        if how == "direct" and (int(at) % BLOCK or int(count) % BLOCK):
            raise InvalidCall(path)
        start = self.size[inode] if how == "append" else int(at)
        self.size[inode] = max(self.size[inode], start + int(count))
        data, flags = letter(number) * int(count), _WRITE_FLAGS[how]
        self._event(Kind.WRITE, inode=inode, offset=start, data=data, flags=flags)

    def _truncate(self, number: int, path: str, size: str) -> None:
        inode = self._file(path)
        self.size[inode] = int(size)
        self._event(Kind.TRUNCATE, inode=inode, length=int(size))

    def _falloc(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        inode = self._file(path)
        if how in ("", "zero"):
            self.size[inode] = max(self.size[inode], int(at) + int(count))
        self._event(Kind.FALLOCATE, inode=inode, offset=int(at), length=int(count), extra=_FALLOC[how])

    def _chmod(self, number: int, path: str, mode: str) -> None:
        if self._inode(path) in self.links or path in self.unnamed:
            raise InvalidCall(path)
        self._event(Kind.SETATTR, inode=self._inode(path), extra=int(mode, 8))

    def _setxattr(self, number: int, path: str, name: str, value: str) -> None:
        inode = self._inode(path)
        if inode in self.links or path in self.unnamed:
            raise InvalidCall(path)
        self.attributes.add((inode, name))
        self._event(Kind.SETXATTR, inode=inode, path=b"user." + name.encode(), data=value.encode())

    def _delxattr(self, number: int, path: str, name: str) -> None:
        inode = self._inode(path)
        if (inode, name) not in self.attributes or path in self.unnamed:
            raise InvalidCall(path)
        self.attributes.discard((inode, name))
        self._event(Kind.DELXATTR, inode=inode, path=b"user." + name.encode())

    def _store(self, number: int, path: str, at: str, count: str) -> None:
        inode = self._file(path)
        if int(at) + int(count) > self.size[inode] or int(at) // 8 != (int(at) + int(count) - 1) // 8:
            raise InvalidCall(path)
        value = int.from_bytes(letter(number) * int(count), "little")
        records = [(1, 0, 0, 0, MemoryKind.THREAD, 0), (inode, 0, 0, inode, MemoryKind.FILE, 0)]
        records.append((value, int(at), 0, inode, MemoryKind.STORE, int(count)))
        self.writer.memory(records)
        self._next_event += len(records)

    def _msync(self, number: int, path: str, at: str, count: str) -> None:
        inode = self._file(path)
        if int(at) >= self.size[inode]:
            raise InvalidCall(path)
        end = min(int(at) + int(count), self.size[inode])
        self._event(Kind.MSYNC, inode=inode, offset=int(at), length=end - int(at), extra=4)

    def _fsync(self, number: int, path: str) -> None:
        if self._inode(path) in self.links:
            raise InvalidCall(path)
        self._event(Kind.FSYNC, inode=self._inode(path))

    def _fdatasync(self, number: int, path: str) -> None:
        if self._inode(path) in self.links:
            raise InvalidCall(path)
        self._event(Kind.FDATASYNC, inode=self._inode(path))

    def _syncfs(self, number: int) -> None:
        self._event(Kind.SYNCFS)

    def _sync(self, number: int) -> None:
        self._event(Kind.SYNC)


def story_of(lines: list[str]) -> Story:
    """A whole workload, told."""
    story = Story()
    for number, line in enumerate(lines):
        story.tell(number, line)
    return story

"""Makes the calls of a workload (calls.py) on a real folder, and what happens behind the program's back."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
from pathlib import Path

from tests.kernel.calls import BLOCK, FALLOC_MODES, START, is_background, letter

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD, _EXCHANGE, _AT_SYMLINK_FOLLOW = -100, 2, 0x400
_WRITE = {"": 0, "append": os.O_APPEND, "sync": os.O_SYNC, "dsync": os.O_DSYNC, "direct": os.O_DIRECT}
_START_SYNC, _WAIT_SYNC = 0x80089418, 0x40089416  # btrfs's periodic commit, on demand


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
        arguments = (FALLOC_MODES[how], ctypes.c_long(int(at)), ctypes.c_long(int(count)))
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

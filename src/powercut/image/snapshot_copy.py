"""A faithful copy of the user's data folder, for the program to be recorded in.

Before: a folder and a place for the copy that does not exist. After: the copy holds the same names, bytes, holes, hard
links, symbolic links, modes, owners (from root), extended attributes and times; fifos, sockets and devices are left out
and listed. The original is only read. Where the file system can share blocks, nothing is copied at all.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.image.image import Below
from powercut.quick_dataclass import dataclass

_FICLONE = 0x40049409
_PIECE = 1 << 24
_UNSUPPORTED = (errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.EINVAL)
_NO_KERNEL_COPY = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


class CopyError(EnvironmentFailure):
    """Something in the data folder could not be copied."""


@dataclass(slots=True)
class Copied:
    """What a copy came to."""

    files: int = 0
    folders: int = 0
    size: int = 0  # bytes of data, holes left out
    left_out: list[Path] = field(default_factory=list)  # fifos, sockets, devices


def copy_tree(
    source: Path,
    target: Path,
    skip: Callable[[Path], bool] = lambda _: False,
    progress: Callable[[Copied], None] = lambda _: None,
) -> Copied:
    """Copy a folder; ``skip`` is asked about every path below it, ``progress`` told after every file."""
    job = _TreeCopy(source, target, skip, progress)
    job.run()
    return job.copied


def copy_untouched(source: Path, target: Path, below: Below) -> None:
    """Add to an image what a program had not touched, from the user's folder as it is now."""
    hidden, waiting = set(below.hidden), [(0, b"")]
    while waiting:
        folder, path = waiting.pop()
        known = below.names(folder)
        for name, obj in known.items():
            if below.is_open(obj):
                waiting.append((obj, path + name + b"/"))
        here = source / os.fsdecode(path)
        there = target / os.fsdecode(path)
        left = known.keys() | (hidden if not path else set()) | {os.fsencode(built.name) for built in there.iterdir()}
        unwanted = {here / os.fsdecode(name) for name in left}
        _TreeCopy(here, there, unwanted.__contains__, lambda _: None).add()


class _TreeCopy:
    def __init__(
        self, source: Path, target: Path, skip: Callable[[Path], bool], progress: Callable[[Copied], None]
    ) -> None:
        self.copied = Copied()
        self._source = source
        self._target = target
        self._skip = skip
        self._progress = progress
        self._seen: dict[tuple[int, int], Path] = {}  # files with several links: where their copy is

    def run(self) -> None:
        folders: list[tuple[Path, Path]] = []
        waiting = [(self._source, self._target)]
        while waiting:
            source, target = waiting.pop()
            try:
                target.mkdir(parents=True)
                folders.append((source, target))
                waiting += self._copy_entries(source, target)
            except OSError as error:
                raise _error(source, error) from error
        for source, target in reversed(folders):  # last, since filling a folder changes its times and needs its mode
            try:
                _copy_attributes(source, target, source.stat())
            except OSError as error:
                raise _error(source, error) from error
        self.copied.folders = len(folders)

    def add(self) -> None:
        """Copy what is in the folder into one that is there."""
        for source, target in self._copy_entries(self._source, self._target):
            inner = _TreeCopy(source, target, lambda _: False, self._progress)
            inner.run()

    def _copy_entries(self, source: Path, target: Path) -> list[tuple[Path, Path]]:
        """Copy what is in a folder; the folders in it are still to be done."""
        folders: list[tuple[Path, Path]] = []
        with os.scandir(source) as entries:
            for entry in entries:
                path = Path(entry.path)
                if path == self._target or self._skip(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((path, target / entry.name))
                    continue
                try:
                    self._copy_entry(path, target / entry.name, entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    if os.path.lexists(path):
                        raise  # else it vanished while we looked, as temporary files do
                except OSError as error:
                    raise _error(path, error) from error
        return folders

    def _copy_entry(self, source: Path, target: Path, status: os.stat_result) -> None:
        first = self._seen.get((status.st_dev, status.st_ino))
        if first is not None:
            os.link(first, target, follow_symlinks=False)
            return
        if stat.S_ISLNK(status.st_mode):
            target.symlink_to(source.readlink())
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)
        elif stat.S_ISREG(status.st_mode):
            self.copied.size += _copy_file(source, target)
            _copy_attributes(source, target, status)
            self.copied.files += 1
            self._progress(self.copied)
        else:
            self.copied.left_out.append(source)
            return
        if status.st_nlink > 1:
            self._seen[status.st_dev, status.st_ino] = target


def _copy_file(source: Path, target: Path) -> int:
    """Copy bytes, and holes as holes; how many bytes were copied."""
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.ioctl(writing, _FICLONE, reading)
                return os.fstat(reading).st_size
            except OSError:
                return _copy_data(reading, writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy_data(reading: int, writing: int) -> int:
    size = os.fstat(reading).st_size
    os.ftruncate(writing, size)
    copied = 0
    at = 0
    while at < size:
        try:
            start = os.lseek(reading, at, os.SEEK_DATA)
            at = os.lseek(reading, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break  # nothing but a hole up to the end
            if error.errno != errno.EINVAL:
                raise
            start, at = at, size  # a file system that knows no holes
        _copy_range(reading, writing, start, at)
        copied += at - start
    return copied


def _copy_range(reading: int, writing: int, start: int, end: int) -> None:
    in_kernel = True
    while start < end:
        count = 0
        if in_kernel:
            try:
                count = os.copy_file_range(reading, writing, min(_PIECE, end - start), start, start)
            except OSError as error:
                if error.errno not in _NO_KERNEL_COPY:
                    raise
            in_kernel = count > 0
        if not in_kernel:
            data = os.pread(reading, min(_PIECE, end - start), start)
            if not data:
                return  # it became shorter
            count = os.pwrite(writing, data, start)
        start += count


def _copy_attributes(source: Path, target: Path, status: os.stat_result) -> None:
    for name in _xattr_names(source):
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError as error:
            if error.errno not in _UNSUPPORTED and error.errno != errno.ENODATA:
                raise
    _copy_owner(target, status)
    target.chmod(stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _copy_owner(target: Path, status: os.stat_result) -> None:
    """Root gives a copy to whom the original belongs; others can only own what they make."""
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):
            os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)


def _xattr_names(path: Path) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return []
        raise


def _error(path: Path, error: OSError) -> CopyError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CopyError(
            "scratch-full",
            f"no space left for the copy of {path}.",
            "Choose a folder with more space with --scratch DIR.",
        )
    return CopyError("copy-failed", f"cannot copy {path}: {error.strerror}.", "powercut must be able to read it.")

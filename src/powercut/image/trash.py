"""Deleting whatever a check left, of any depth, with any modes, without ever following a link.

Everything is first moved into a trash folder of our own and deleted there, level by level: a folder's folders are
moved up beside it, so no path grows and nothing recurses.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH101, PTH103, PTH104, PTH106, PTH108, PTH118, PTH208
from __future__ import annotations

import os
import stat
from itertools import count

_TRASH = b"trash"


def throw_away(name: bytes, folder_fd: int | None, store: bytes) -> None:
    """Delete one entry of a folder (or a path), whatever it is. It must exist."""
    status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=folder_fd)
        return
    trash = os.path.join(store, _TRASH)
    os.makedirs(trash, 0o700, exist_ok=True)
    if status.st_mode & 0o700 != 0o700:
        _open_up(name, folder_fd)
    os.rename(name, os.path.join(trash, b"0"), src_dir_fd=folder_fd)
    _burn(trash)


def empty_folder(folder: bytes, store: bytes) -> None:
    """Delete everything in a folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for name in os.listdir(fd):
            encoded = os.fsencode(name)
            if folder != store or encoded != _TRASH:
                throw_away(encoded, fd, store)
    finally:
        os.close(fd)


def _open_up(name: bytes, folder_fd: int | None) -> None:
    """Make a folder ours to change; through a handle, since the name itself could be swapped for a link."""
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)


def _burn(trash: bytes) -> None:
    """Delete the folders in the trash, which are all its entries."""
    numbers = count(1)
    waiting = [os.path.join(trash, b"0")]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in list(entries):
                if entry.is_dir(follow_symlinks=False):
                    if entry.stat(follow_symlinks=False).st_mode & 0o700 != 0o700:
                        os.chmod(entry.path, 0o700)
                    waiting.append(os.path.join(trash, b"%d" % next(numbers)))
                    os.rename(entry.path, waiting[-1])
                else:
                    os.unlink(entry.path)
        os.rmdir(folder)

"""A file that tells a check what the program had said to the outside before the power cut.

Before ``hold``: the file may be missing, or whatever the last check made of it. After: it holds the words.
"""

# The path is bytes here, which pathlib does not hold.
# ruff: noqa: PTH116
from __future__ import annotations

import os
from pathlib import Path

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class WordFile:
    """One such file. It is written only when the words changed, or somebody changed the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._path = os.fsencode(path)
        self._words: bytes | None = None
        self._seen = (0, 0, 0)

    def hold(self, words: bytes) -> None:
        """Make the file hold these words."""
        if words == self._words and self._state() == self._seen:
            return
        fd = os.open(self._path, _WRITE, 0o644)
        try:
            written = 0
            while written < len(words):
                written += os.write(fd, words[written:])
            self._seen = _identity(os.fstat(fd))
        finally:
            os.close(fd)
        self._words = words

    @property
    def inode(self) -> int:
        """Of the file that holds the words."""
        return self._seen[0]

    def _state(self) -> tuple[int, int, int]:
        try:
            return _identity(os.stat(self._path))
        except OSError:
            return (0, 0, 0)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_ctime_ns

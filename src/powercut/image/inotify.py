"""What a check did to the folders of an image, as the kernel saw it.

Before: every folder of the image is registered under its object number. After each ``take``: which names in which
folders were touched since the last one, by whom ever; whoever changes the image himself takes and forgets his own
events first. Stores through shared mappings raise no event of their own, but closing the written file does, at the
latest when the last process of the check has ended.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection
from dataclasses import field

from powercut import _engine
from powercut.quick_dataclass import dataclass

IN_MODIFY = 0x2
IN_ATTRIB = 0x4
IN_CLOSE_WRITE = 0x8
IN_MOVED_FROM = 0x40
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_DELETE_SELF = 0x400
IN_MOVE_SELF = 0x800
IN_UNMOUNT = 0x2000
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ONLYDIR = 0x1000000

_WANTED = (
    IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF
    | IN_MOVE_SELF | IN_ONLYDIR
)  # fmt: skip
_GONE = IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT


@dataclass(slots=True)
class Dirt:
    """What was touched: names in folders, folders themselves, folders that no longer exist; or all, maybe."""

    names: dict[int, set[bytes]] = field(default_factory=dict)
    folders: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    overflow: bool = False

    def __bool__(self) -> bool:
        return bool(self.names or self.folders or self.gone or self.overflow)

    def add(self, folder: int, name: bytes) -> None:
        """Mark one name."""
        self.names.setdefault(folder, set()).add(name)


class WatchLimit(Exception):
    """The kernel allows no more watches to this user."""


class Watch:
    """An inotify queue over the folders of an image."""

    def __init__(self) -> None:
        try:
            self._fd = _engine.watch_open()
        except OSError as error:
            raise WatchLimit(str(error)) from error
        self._folders: dict[int, int] = {}  # watch number: folder
        self._watches: dict[int, int] = {}
        self._events: dict[tuple[int, bytes], int] = {}

    def add(self, folder: int, path: bytes) -> None:
        """Watch a folder from now on, wherever it is moved."""
        try:
            watch = _engine.watch_add(self._fd, path, _WANTED)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise WatchLimit(str(error)) from error
            raise
        self._folders[watch] = folder
        self._watches[folder] = watch

    def remove(self, folder: int) -> None:
        """Forget a folder."""
        watch = self._watches.pop(folder, None)
        if watch is not None:
            del self._folders[watch]
            _engine.watch_remove(self._fd, watch)

    def collect(self) -> None:
        """Empty the kernel's queue, so that a busy check does not make it overflow."""
        _engine.watch_read(self._fd, self._events)

    def take(self, names: Collection[tuple[int, bytes]] = (), folders: Collection[int] = ()) -> Dirt:
        """Everything that was touched since the last time, except names and folders that the caller changed himself."""
        _engine.watch_read(self._fd, self._events)
        dirt = Dirt()
        if not self._events:
            return dirt
        events, self._events = self._events, {}
        for (watch, name), mask in events.items():
            folder = self._folders.get(watch)
            if mask & IN_Q_OVERFLOW:
                dirt.overflow = True
            elif folder is None:
                continue  # a folder that we have forgotten since
            elif mask & _GONE:
                dirt.gone.add(folder)
            elif not name:
                if folder not in folders:
                    dirt.folders.add(folder)
            elif (folder, name) not in names:
                dirt.add(folder, name)
        return dirt

    def close(self) -> None:
        """Give the queue back to the kernel."""
        os.close(self._fd)

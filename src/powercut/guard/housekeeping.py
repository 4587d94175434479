"""Creating segments of the log ahead of the service, on another core.

Before: the folder of a log, and the number of the first segment that the service will write. While the service runs:
whenever a segment is begun, the next ones are made. After: nothing that was made ready is left. A supervisor that was
killed leaves it, which harms nobody; it is swept away at the next start.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from powercut import _engine
from powercut.errors import UsageError
from powercut.guard.log import last_segment

SEGMENT = 8 << 20  # bytes of a segment
_AT_ONCE = 1 << 18  # bytes of it that are written before somebody who waits for the end is heard: a disk may be slow
READY = 2  # segments ahead: one is made in the time in which a service fills a tenth of one
_BEGUN = 0x40 | 0x100  # IN_MOVED_FROM: one was taken; IN_CREATE: none was there
_LOOK = 0.1  # seconds between two looks where the kernel cannot tell
_NAMES = ("*.ready", "*.ready.part")


def sweep(folder: Path) -> None:
    """Remove what was made ready and not used."""
    for path in (path for name in _NAMES for path in folder.glob(name)):
        path.unlink(missing_ok=True)


def keep_ready(folder: Path, first: int, is_over: Callable[[], bool] = lambda: False) -> None:
    """Make the next segments, those that are missing; `first`: the number of the first one if there is none yet.

    Nothing more is made once it is over.
    """
    following = max(first, last_segment(folder) + 1)
    for path in folder.glob("*.ready"):
        if path.stem.isdecimal() and int(path.stem) < following:  # the service was faster
            path.unlink(missing_ok=True)
    for number in range(following, following + READY):
        if not (folder / f"{number}.ready").exists():
            _make(folder / f"{number}.ready", is_over)


def _make(path: Path, is_over: Callable[[], bool]) -> None:
    """An empty segment, all of it in memory, under its name only when it is complete."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb", buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, SEGMENT)
            for _ in range(0, SEGMENT, _AT_ONCE):
                if is_over():
                    break
                file.write(bytes(_AT_ONCE))
        if is_over():
            part.unlink()
        else:
            part.rename(path)
    except OSError:  # no room: the service says so, if it needs one and cannot make it either
        part.unlink(missing_ok=True)


class Housekeeping:
    """Segments are kept ready while a block runs, by a thread; `first`: the number of the first one.

    `begun` is called, in that thread, whenever the service has begun one.
    """

    def __init__(self, folder: Path, first: int, begun: Callable[[], None] = lambda: None) -> None:
        self._folder = folder
        self._first = first
        self._begun = begun
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="housekeeping")

    def __enter__(self) -> None:
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)
        self._events = _watch(self._folder)
        self._keep_ready()  # once before the service starts: it finds its first segment
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        os.eventfd_write(self._stop, 1)
        self._thread.join()
        os.close(self._stop)
        if self._events is not None:
            os.close(self._events)
        sweep(self._folder)

    def _work(self) -> None:
        waiting = select.poll()
        waiting.register(self._stop, select.POLLIN)
        if self._events is not None:
            waiting.register(self._events, select.POLLIN)
        while True:
            told = waiting.poll(None if self._events is not None else _LOOK * 1000)
            if any(file == self._stop for file, _ in told):
                return
            if self._events is not None:
                _engine.watch_read(self._events, {})
            self._begun()  # first: the service may have to be asked for patience, and a disk may be slow
            self._keep_ready()

    def _keep_ready(self) -> None:
        with suppress(OSError, UsageError):  # the folder is gone: the service says what it needs
            keep_ready(self._folder, self._first, self._over.is_set)


def _watch(folder: Path) -> int | None:
    """A descriptor that tells when a segment is begun; None: there are too many of them."""
    try:
        events = _engine.watch_open()
    except OSError:
        return None
    try:
        _engine.watch_add(events, os.fsencode(folder), _BEGUN)
    except OSError:
        os.close(events)
        return None
    return events

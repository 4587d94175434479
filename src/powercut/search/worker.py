"""A worker: one process that owns one image, moves it from state to state and has the oracle judge each.

Before: forked from the engine, with all timelines in memory. It sets up its view of the file system, says so, and
then answers batches of jobs until the engine's end of the socket closes. It ends by ``_exit`` only, and takes its view,
and with it all it built in memory, along.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import fcntl
import gc
import os
import signal
import socket
import termios
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from powercut import _engine
from powercut.errors import EnvironmentFailure, PowercutError
from powercut.image.folder import ImageFolder
from powercut.image.image import Images
from powercut.image.layers import Layers
from powercut.image.scratch import Scratch, ScratchError
from powercut.oracle.protocol import Oracle, Place, Told
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.search.forked_judging import ForkedJudging, Judged
from powercut.search.jobs import Job, Result, Watched, Watching
from powercut.search.messages import (
    Inbox,
    Message,
    Phase,
    ResultMessage,
    Slot,
    frame,
    pack_failure,
    pack_result,
    unpack_jobs,
)
from powercut.search.watched_judging import Watcher

_FLUSH_SECONDS = 0.02  # results wait this long for company
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_ANOTHER_BOOT = "70776375-7400-4000-8000-000000000000\n"  # the same for all checks: they are to say the same again


@dataclass(frozen=True, slots=True)
class Setup:
    """What all workers of a run share."""

    images: Sequence[Images]
    oracle: Oracle
    data_dir: Path
    scratch: Scratch
    namespaces: bool


def home_name(number: int, pid: int) -> str:
    """A worker's folder in the scratch folder, never that of another one that died before it."""
    return f"{number}-{pid}"


def run_worker(setup: Setup, number: int, sock: socket.socket, slot: Slot, parent: int) -> NoReturn:
    """The whole life of a worker process."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine decides when to stop
        faulthandler.disable()  # a check that crashes is a verdict, not news for the terminal
        _leave_terminal()
        gc.freeze()  # the timelines stay shared with the engine
        gc.set_threshold(20000, 20, 100)
        _engine.adopt_orphans()
        _engine.die_with_parent(parent)
        try:
            worker = Worker(setup, number, sock, slot)
            sock.sendall(frame(Message.READY, 0))
            worker.work()
        except PowercutError as error:
            sock.sendall(pack_failure(error))
        except OSError as error:
            sock.sendall(pack_failure(_failure(error, setup.scratch.path)))
        status = 0
    except (BrokenPipeError, ConnectionResetError):
        status = 0  # the engine is gone
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _failure(error: OSError, scratch: Path) -> PowercutError:
    """Why a worker cannot start or go on."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ScratchError.full(str(scratch))
    return EnvironmentFailure("worker-failed", f"A worker cannot run: {error}.")


def _leave_terminal() -> None:
    """A check that asks a question gets an error instead of stopping, and keys reach only the engine.

    A session of its own would do it, too, but makes each worker a scheduling group, which halves the rate of short
    checks on a busy machine.
    """
    os.setpgid(0, 0)
    with contextlib.suppress(OSError):
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, termios.TIOCNOTTY)
        finally:
            os.close(fd)


def _show_another_boot(home: Path) -> None:
    """Checks run after the power cut, hence after another start of the machine than the program that was recorded.

    Databases that trust what is not synced while the machine was not started anew (libmdbx, lmdb-js) look here.
    """
    if _BOOT_ID.exists():
        another = home / ".boot_id"
        another.write_text(_ANOTHER_BOOT)
        with contextlib.suppress(OSError):  # a container may forbid mounts there; docs/limits.md says what that means
            _engine.bind_mount(another, _BOOT_ID)


class Worker:
    """One image and the loop over jobs."""

    def __init__(self, setup: Setup, number: int, sock: socket.socket, slot: Slot) -> None:
        self._setup = setup
        self._number = number
        self._socket = sock
        self._slot = slot
        self._inbox = Inbox(sock)
        self._folder: ImageFolder | None = None
        self._layers: Layers | None = None  # where images do not hold all of the folder
        self._timeline = -1
        self._output: tuple[int, frozenset[int]] = (-1, frozenset())  # what `_told` stands for
        self._told = Told()
        self._results: list[ResultMessage] = []
        self._flushed = time.monotonic()
        self._place = self._make_place()
        setup.oracle.open(self._place)

    def work(self) -> None:
        """Answer jobs until there are no more."""
        while messages := self._inbox.receive():
            for job in unpack_jobs(messages):
                self._answer(job)
            self._flush()
            self._slot.write(Phase.IDLE)

    def _make_place(self) -> Place:
        """Make the folders; with namespaces, in memory of our own and shown where the data folder is."""
        setup = self._setup
        os.chdir("/")
        scratch = setup.scratch.path
        if setup.namespaces:
            _engine.enter_view(scratch, scratch)
            if setup.scratch.memory:
                _engine.mount_tmpfs(scratch, f"mode=0755,nr_inodes=0,size={setup.scratch.memory}")
        home = scratch / home_name(self._number, os.getpid())
        home.mkdir()
        own = home / ".oracle"
        own.mkdir()
        if setup.namespaces:
            _show_another_boot(home)
        below = setup.images[0].below
        if setup.namespaces and below is not None:
            self._layers = Layers(setup.data_dir, home, below.hidden)
            self._layers.show()
            self._root, self._store = self._layers.root, self._layers.store
            return Place(setup.data_dir, setup.data_dir, own, layered=True)
        self._root, self._store = home / (setup.data_dir.name or "root"), home / ".store"
        for folder in (self._root, self._store):
            folder.mkdir()
        if setup.namespaces:
            _engine.bind_mount(self._root, setup.data_dir)
            self._image = setup.data_dir.stat()
            return Place(setup.data_dir, setup.data_dir, own)
        return Place(self._root, setup.data_dir, own)

    def _answer(self, job: Job) -> None:
        self._slot.write(Phase.BUILDING, job.id)
        watched, started = None, time.monotonic()
        try:
            folder = self._image_folder(job.timeline)
            folder.move_to(job.state)
            told = self._told_at(job)
        except PowercutError:
            self._flush()
            raise
        except Exception:
            judged = Judged(Verdict(Outcome.ERROR, 0, f"cannot build the image\n{traceback.format_exc()}"))
        else:
            judged, watched = self._judge(job, folder, told)
            if self._is_hidden():
                words = f"another file system was mounted over {self._setup.data_dir} while the check ran"
                judged, watched = Judged(Verdict(Outcome.ERROR, 0, words)), None
        seconds = time.monotonic() - started - judged.proving
        contradiction = judged.contradiction or (watched.differs if watched is not None else "")
        result = Result(job.id, judged.verdict, watched, seconds, judged.forked, judged.disproved, contradiction)
        self._results.append(pack_result(result))
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self._flush()

    def _judge(self, job: Job, folder: ImageFolder, told: Told) -> tuple[Judged, Watched | None]:
        def begin() -> None:
            self._slot.write(Phase.JUDGING, job.id)

        oracle, place = self._setup.oracle, self._place.folder
        if job.looks is not Watching.NOT:
            watcher = Watcher(oracle, folder, place, self._setup.images[job.timeline].image, begin)
            verdict, watched = watcher.judge(job, told)
            return Judged(verdict), watched
        if job.traced:
            begin()
            return Judged(oracle.judge_traced(place, told, folder.collect)), None
        return ForkedJudging(oracle, folder, place, begin).judge(job, told), None

    def _is_hidden(self) -> bool:
        """Whether the machine mounted something over a folder above the image, so that a check looks elsewhere."""
        if not self._setup.namespaces:
            return False
        try:
            shown = self._image if self._layers is None else self._layers.shown
            return not os.path.samestat(self._setup.data_dir.stat(), shown)
        except OSError:
            return True

    def _image_folder(self, timeline: int) -> ImageFolder:
        """The image, from now on one of this timeline's states."""
        if self._folder is None:
            images = self._setup.images[timeline]
            self._folder = ImageFolder(self._root, self._store, images, layers=self._layers)
        elif timeline != self._timeline:
            self._folder.turn_to(self._setup.images[timeline])
            self._output = (-1, frozenset())
        self._timeline = timeline
        return self._folder

    def _told_at(self, job: Job) -> Told:
        point = job.state.point if job.output_until is None else job.output_until
        if (point, job.unsaid) != self._output:
            images = self._setup.images[job.timeline]
            self._told = Told(images.acked(point, job.unsaid), images.sent(point, job.unsaid))
            self._output = (point, job.unsaid)
        return self._told

    def _flush(self) -> None:
        if self._results:
            self._socket.sendall(frame(Message.RESULTS, self._results))
            self._results = []
        self._flushed = time.monotonic()

"""The engine's side of one worker process: its socket, its batches, its end.

The engine never waits on a worker: what does not fit into the socket stays here until it does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

from powercut.programs import descendants
from powercut.search.jobs import Job
from powercut.search.messages import Message, Slot, frames, pack_jobs
from powercut.search.worker import Setup, run_worker

_CHUNK = 1 << 18
_AHEAD_SECONDS = 0.15  # how much work a worker gets at once
_COUNT_SECONDS = 0.05  # how long results are counted, at least for as many as it has at hand, to tell how fast it is
_DEPTHS = (2, 512)


class WorkerProcess:
    """A forked worker.

    Attributes:
        running: jobs it was given and has not answered, in order.
        depth: how many jobs it should have at hand.
        unsent: bytes that wait for room in the socket; waits_for_room: that room is being watched for.
        hung: killed by us, for taking too long.
    """

    def __init__(self, setup: Setup, number: int, others: Iterable[socket.socket]) -> None:
        self.number = number
        self.slot = Slot()
        self.running: dict[int, Job] = {}
        self.depth = _DEPTHS[0]
        self.unsent = bytearray()
        self.waits_for_room = False
        self.ready = False
        self.hung = False
        self._received = bytearray()
        self._counted = (time.monotonic(), 0)
        self._status: int | None = None
        self.socket, theirs = socket.socketpair()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            for sock in (self.socket, *others):
                sock.close()  # or a worker would keep its siblings' sockets open
            run_worker(setup, number, theirs, self.slot, parent)
        theirs.close()
        self.socket.setblocking(False)

    def give(self, jobs: list[Job]) -> None:
        """Send a batch."""
        if not self.running:
            self._counted = (time.monotonic(), 0)
        self.running.update((job.id, job) for job in jobs)
        self.unsent += pack_jobs(jobs)
        self.send()

    def send(self) -> None:
        """Send what the socket takes. That the worker is gone shows when reading."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self.unsent:
                sent = self.socket.send(memoryview(self.unsent)[:_CHUNK])
                del self.unsent[:sent]

    def receive(self) -> bool:
        """Read what is there; False at the end."""
        try:
            while data := self.socket.recv(_CHUNK):
                self._received += data
        except BlockingIOError:
            return True
        except ConnectionResetError:
            pass
        self.unsent.clear()
        return False

    def messages(self) -> Iterator[tuple[Message, Any]]:
        """Whole messages that were read."""
        yield from frames(self._received)

    def count(self, results: int) -> None:
        """Learn from results that came how many jobs make a good batch."""
        since, count = self._counted
        elapsed = time.monotonic() - since
        count += results
        if elapsed > _COUNT_SECONDS or count >= self.depth:
            low, high = _DEPTHS
            self.depth = max(low, min(high, int(count / elapsed * _AHEAD_SECONDS), 4 * self.depth))
            self._counted = (time.monotonic(), 0)
        else:
            self._counted = (since, count)

    def kill(self) -> None:
        """End it and all it started, at once."""
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGSTOP)  # so that it starts nothing more
                for pid in [*descendants(self.pid), self.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def reap(self) -> int:
        """Wait for its end; the wait status."""
        if self._status is None:
            _, self._status = os.waitpid(self.pid, 0)
            self.socket.close()
        return self._status

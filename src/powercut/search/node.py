"""A node's part of a run: a process that judges with all the cores of its machine, for an engine elsewhere.

Before: started by the node's link with a socket and the trace as an open file. The first message says how to judge.
After: the timelines are rebuilt from the trace, so that states travel as the few updates in which they differ; jobs
that come over the socket go to a `LocalExecutor`, and results go back with how many jobs would keep it busy. The end
of the socket is the end of the process.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from pathlib import Path

import msgspec

from powercut import _engine
from powercut.errors import EnvironmentFailure, PowercutError
from powercut.image.scratch import ScratchPolicy
from powercut.image.state_image import StateImages
from powercut.model.filesystem import file_systems
from powercut.oracle.command import CommandOracle
from powercut.oracle.fingerprint import fingerprint
from powercut.search.local_executor import LocalExecutor
from powercut.search.messages import (
    Inbox,
    Message,
    frame,
    pack_failure,
    pack_result,
    pack_setup,
    unpack_jobs,
    unpack_setup,
)
from powercut.states.timelines import make_timelines
from powercut.trace.reader import Trace

_LOOK_SECONDS = 0.05  # how often new jobs are looked for while some run


class Setup(msgspec.Struct, kw_only=True):
    """How a node judges: what the engine of the run says.

    Attributes:
        name: of the node, for messages.
        check: the fingerprint that the check has on the engine's machine; facts: what else it is made of.
        need: bytes of the base image.
    """

    name: str
    fs: str
    memory: str
    tear: bool
    argv: list[str]
    env: dict[str, str]
    timeout: float
    folder: str
    views: bool
    workers: int
    scratch: str | None
    need: int
    check: bytes
    facts: dict[str, str | int | float | bool]

    def message(self) -> bytes:
        """The first message to a node."""
        return pack_setup(self)


def main(socket_fd: int, trace_fd: int) -> None:
    """The whole life of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine decides when to stop
    sock = socket.socket(fileno=socket_fd)
    inbox = Inbox(sock)
    try:
        messages = inbox.receive()
        if not messages:
            return
        executor = make_executor(unpack_setup(messages[0], Setup), Path(f"/proc/self/fd/{trace_fd}"))
        try:
            sock.sendall(frame(Message.READY, executor.capacity()))
            _serve(sock, inbox, executor)
        finally:
            executor.close()
    except PowercutError as error:
        sock.sendall(pack_failure(error))
    except (BrokenPipeError, ConnectionResetError):
        pass  # the engine is gone


def make_executor(setup: Setup, trace_file: Path) -> LocalExecutor:
    """What judges here; an error if it would not judge as on the engine's machine."""
    trace = Trace.open(trace_file)
    folder = Path(setup.folder)
    if setup.views and not (folder.is_dir() and _engine.can_enter_view()[0]):
        raise EnvironmentFailure(
            "node-differs",
            f"node {setup.name} cannot show images at {folder}, unlike the machine that started the run.",
            "Create that folder there (it may be empty) and allow private mounts, or use --no-namespaces.",
        )
    if fingerprint(setup.argv, setup.env, setup.facts) != setup.check:
        raise EnvironmentFailure(
            "node-differs",
            f"the check on node {setup.name} differs from the one on the machine that started the run.",
            "Every file that its command names must be the same on all nodes, at the same path.",
        )
    rows = file_systems(setup.fs, setup.memory)
    timelines = make_timelines(trace, [row.torn() if setup.tear else row for row in rows])
    scratch = ScratchPolicy(Path(setup.scratch) if setup.scratch else None, setup.need)
    oracle = CommandOracle(setup.argv, setup.timeout, setup.env)
    images = [StateImages(timeline) for timeline in timelines]
    return LocalExecutor(images, oracle, folder, setup.workers, setup.timeout, scratch, setup.views)


def _serve(sock: socket.socket, inbox: Inbox, executor: LocalExecutor) -> None:
    """Judge what comes, until the socket ends."""
    running = 0
    while True:
        if not running or select.select([sock], [], [], 0)[0]:
            messages = inbox.receive()
            if not messages:
                return
            jobs = list(unpack_jobs(messages))
            running += len(jobs)
            executor.submit(jobs)
        results = executor.results(_LOOK_SECONDS)
        if results:
            running -= len(results)
            packed = list(map(pack_result, results))
            sock.sendall(frame(Message.RESULTS, packed) + frame(Message.READY, running + executor.capacity()))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)

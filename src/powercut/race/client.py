"""A client for a server that is executed: started when the server listens, and the reason why the server ends.

Before: the tracer runs the server. After: the client has run against it, outside of the tracer, with the seed on its
standard input, and the server was ended by SIGTERM, as an administrator does; also where the client waits in vain.
`{port}` in the commands of both stands for a port of this machine that was free, another one in each execution, so that
several can run at the same time.

The server listens when a process below the tracer has a socket that does: of TCP, or of the file system.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from threading import Event, Thread

from powercut.quick_dataclass import dataclass

_GLANCE = 0.02  # seconds between two looks at the server's sockets
_AGAIN = 1.0  # seconds after which a server that goes on is told once more to end
_PATIENCE = 5.0  # seconds in which a client must end once the server has
_LATE = 3.0  # seconds beyond its limit after which a server is told to end: the tracer's clock starts later
_PORT = "{port}"
_LISTENS = "0A"  # the state in /proc/net/tcp
_ACCEPTS = 0x10000  # the flag in /proc/net/unix
_SAID = 4000  # bytes of what a client printed last


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        number: int = some.getsockname()[1]
        return number


def uses_port(command: Sequence[str]) -> bool:
    """Whether a port is to be put into a command."""
    return any(_PORT in word for word in command)


def with_port(command: Sequence[str], port: int) -> list[str]:
    """A command for one execution."""
    return [word.replace(_PORT, str(port)) for word in command]


@dataclass(slots=True)
class Client:
    """One client of one execution.

    Attributes:
        printed: file for its standard output and error.
        status: its exit status, or less than 0 a signal; None if it never ran.
        ended_server: the server was told to end,
        was_late: as its time was over.
    """

    command: Sequence[str]
    cwd: Path
    seed: Path
    printed: Path
    limit: float
    status: int | None = None
    ended_server: bool = False
    was_late: bool = False
    _over: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def accompany(self, tracer: int) -> None:
        """The tracer runs the server."""
        self._thread = Thread(target=self._run, args=(tracer,), daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """The server has ended, whoever ended it."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(2 * _PATIENCE)

    @property
    def failure(self) -> str:
        """What went wrong with it, in words that follow a name; empty if nothing did."""
        if self.status is None:
            return "never ran, because the server did not listen"
        if self.status == 0 or not self.ended_server:
            return ""
        return f"exited with status {self.status}" if self.status > 0 else f"was killed by signal {-self.status}"

    def last_words(self) -> str:
        """The end of what it printed."""
        with suppress(OSError):
            return self.printed.read_bytes()[-_SAID:].decode("utf-8", "replace").strip()
        return ""

    def _run(self, tracer: int) -> None:
        while not self._over.is_set() and not any(_listens(process) for process in _below(tracer)):
            time.sleep(_GLANCE)
        if self._over.is_set():
            return
        with open(self.seed, "rb") as given, open(self.printed, "wb") as said:
            process = subprocess.Popen(self.command, cwd=self.cwd, stdin=given, stdout=said, stderr=said)
        self.status = self._wait(process, tracer)
        self.ended_server = not self._over.is_set()
        while not self._over.is_set():
            self._end(tracer)

    def _end(self, tracer: int) -> None:
        """Tell the server to end, and give it a moment."""
        for server in list(_below(tracer))[:1]:
            with suppress(OSError):
                os.kill(server, signal.SIGTERM)
        self._over.wait(_AGAIN)

    def _wait(self, process: subprocess.Popen[bytes], tracer: int) -> int:
        """Until it ends; a client that goes on without a server is ended, and so is a server that takes too long."""
        deadline, late = None, time.monotonic() + self.limit + _LATE
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_GLANCE)
            if time.monotonic() > late and not self._over.is_set():
                self.was_late = True
                self._end(tracer)
            if deadline is None and self._over.is_set():
                deadline = time.monotonic() + _PATIENCE
            if deadline is not None and time.monotonic() > deadline:
                process.kill()


def _below(process: int) -> Iterator[int]:
    """All processes that a process has started, parents before children."""
    with suppress(OSError, ValueError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


def _listens(process: int) -> bool:
    """Whether a process has a socket that listens."""
    mine = set()
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                target = str(file.readlink())
                if target.startswith("socket:["):
                    mine.add(target[8:-1])
    return bool(mine) and not mine.isdisjoint(_listening(process))


def _listening(process: int) -> Iterator[str]:
    """The inodes of all sockets that listen, in the process's network."""
    for name in ("tcp", "tcp6", "unix"):
        with suppress(OSError):
            for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]:
                words = line.split()
                if name == "unix" and len(words) > 6 and int(words[3], 16) & _ACCEPTS:
                    yield words[6]
                elif name != "unix" and len(words) > 9 and words[3] == _LISTENS:
                    yield words[9]

"""A beanstalkd on a unix socket, for as long as the block lasts."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS = 20  # more than any start here takes


class Stopped(Exception):
    """The server ended by itself; the exception holds what it said."""


@contextlib.contextmanager
def beanstalkd(folder: str) -> Iterator[socket.socket]:
    """Start a server with a log in the folder that is synced after each write, connect to it, and end it."""
    place = Path(tempfile.mkdtemp(prefix="beanstalkd-"))
    command = ["beanstalkd", "-l", f"unix:{place}/socket", "-b", folder, "-f", "0", "-s", "16384"]
    with (place / "log").open("w+") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            yield connect(server, place)
        finally:
            server.kill()
            shutil.rmtree(place)


def connect(server: subprocess.Popen[bytes], place: Path) -> socket.socket:
    """A connection to a server that has read its log."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            raise Stopped((place / "log").read_text().strip())
        with contextlib.suppress(OSError):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(place / "socket"))
            return connection
        time.sleep(0.01)
    raise Stopped("it does not answer")


def ask(connection: socket.socket, command: bytes) -> bytes:
    """The answer to a command: a line, and instead of FOUND the job that it announces."""
    connection.sendall(command)
    with connection.makefile("rb") as answers:
        line = answers.readline().strip()
        return answers.read(int(line.split()[2]) + 2)[:-2] if line.startswith(b"FOUND") else line

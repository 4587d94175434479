"""A Redis server on a unix socket, for as long as the block lasts."""

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
    """The server ended by itself; the exception holds the last lines that it said."""


@contextlib.contextmanager
def redis(folder: str, *settings: str) -> Iterator[socket.socket]:
    """Start a server on the folder and connect to it; then end it without asking it to save."""
    place = Path(tempfile.mkdtemp(prefix="redis-"))
    command = ["redis-server", "--port", "0", "--unixsocket", str(place / "socket"), "--dir", folder, *settings]
    with (place / "log").open("w+") as log, subprocess.Popen(command, stdout=log) as server:
        try:
            yield connect(server, place)
        finally:
            server.kill()
            shutil.rmtree(place)


def connect(server: subprocess.Popen[bytes], place: Path) -> socket.socket:
    """A connection to a server that has loaded its data."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            raise Stopped(" / ".join((place / "log").read_text().splitlines()[-3:]))
        with contextlib.suppress(OSError):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(place / "socket"))
            if ask(connection, "PING") == "+PONG":
                return connection
        time.sleep(0.01)
    raise Stopped("it does not answer")


def ask(connection: socket.socket, command: str) -> str:
    """The answer to a command, without its length."""
    connection.sendall(command.encode() + b"\r\n")
    said = b""
    while not said.endswith(b"\r\n") or (said.startswith(b"$") and said != b"$-1\r\n" and said.count(b"\r\n") < 2):
        if not (more := connection.recv(65536)):
            return "-ERR the connection is closed"
        said += more
    return said.decode().splitlines()[-1]

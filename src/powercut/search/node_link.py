"""The link to a node: what lives there on the engine's behalf, starts the node's process and passes bytes on.

Before: a Ray actor on its node, given the trace, which travelled there once. After: a process of its own judges there
(`node`): Ray's process has threads, and workers are forked. This module knows neither Ray nor what the bytes mean.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress

import numpy as np
import numpy.typing as npt

_CHUNK = 1 << 20
_END_SECONDS = 10.0  # for tidying up


class NodeLink:
    """One node's process and the socket to it."""

    def __init__(self, trace: npt.NDArray[np.uint8], setup: bytes) -> None:
        """Start the process; `setup` is its first message. The trace lies in a file without a name, never left over."""
        self._sending = threading.Lock()  # calls come in threads of Ray's
        self._socket, theirs = socket.socketpair()
        with tempfile.TemporaryFile() as file, theirs:
            file.write(trace.data)
            file.flush()
            fds = (theirs.fileno(), file.fileno())
            command = [sys.executable, "-m", "powercut.search.node", *map(str, fds)]
            self._process = subprocess.Popen(command, pass_fds=fds, stdin=subprocess.DEVNULL, cwd="/")
        self.send(setup)

    def send(self, message: bytes) -> None:
        """Pass a message to the process."""
        with self._sending, suppress(BrokenPipeError, ConnectionResetError):  # that it is gone shows when reading
            self._socket.sendall(message)

    def receive(self, seconds: float) -> bytes | None:
        """What came from it, waiting for the first byte up to a limit; None at its end."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return b""
        try:
            return self._socket.recv(_CHUNK) or None
        except ConnectionResetError:
            return None

    def stop(self) -> None:
        """End the process, which tidies up."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

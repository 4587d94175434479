"""A MariaDB server on a unix socket, for as long as the block lasts."""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SMALL = ["--innodb-buffer-pool-size=8M", "--innodb-log-file-size=4M", "--key-buffer-size=1M", "--skip-networking"]
SECONDS = 40  # more than any start here takes
OLD = "--innodb-use-native-aio=0"  # io_uring is not traced


class Stopped(Exception):
    """The server ended by itself; the exception holds the last lines that it said."""


@contextlib.contextmanager
def mariadb(folder: Path, *settings: str) -> Iterator[list[str]]:
    """Start a server on the folder and give the command of a client; then end the server with a shutdown."""
    place = Path(tempfile.mkdtemp(prefix="mariadb-"))
    options = [f"--datadir={folder}", f"--socket={place}/socket", f"--pid-file={place}/pid", *SMALL, OLD, *settings]
    client = ["mariadb", "--no-defaults", f"--socket={place}/socket", "--user=root", "--batch", "--unbuffered"]
    with (place / "log").open("w") as log:
        command = ["mariadbd", "--no-defaults", "--user=root", "--skip-grant-tables", *options]
        with subprocess.Popen(command, stdout=log, stderr=log) as server:
            try:
                wait_for(server, client, place / "log")
                yield client
                subprocess.run([*client, "-e", "SHUTDOWN"], check=True)
                server.wait(SECONDS)
            finally:
                server.kill()
                shutil.rmtree(place)


def wait_for(server: subprocess.Popen[bytes], client: list[str], log: Path) -> None:
    """Wait until the server answers; Stopped says why it does not."""
    until = time.monotonic() + SECONDS
    while subprocess.run([*client, "-e", "SELECT 1"], capture_output=True, check=False).returncode:
        if server.poll() is not None or time.monotonic() > until:
            wrong = [line for line in log.read_text().splitlines() if "ERROR" in line]
            raise Stopped(" / ".join(wrong[-3:]) or "it does not answer")
        time.sleep(0.05)

"""PostgreSQL's programs, run as the user postgres where this one is root, which PostgreSQL refuses."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/bin"), key=lambda path: path.parent.name)
SMALL = ["shared_buffers=2MB", "max_connections=5", "autovacuum=off", "listen_addresses="]


def run(program: str, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs with what is said to it; the result holds what it said."""
    who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    command = [str(PROGRAMS / program), *words]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False, **who)


@contextlib.contextmanager
def server(folder: str, *settings: str) -> Iterator[str]:
    """Start a server on the folder, give the place of its socket, and stop it in the end."""
    place = tempfile.mkdtemp(prefix="postgres-")
    if os.geteuid() == 0:
        shutil.chown(place, "postgres")
    options = " ".join(f"-c {setting}" for setting in (*SMALL, f"unix_socket_directories={place}", *settings))
    try:
        started = run("pg_ctl", "start", "-w", "-D", folder, "-l", f"{place}/log", "-o", options)
        if started.returncode:
            raise SystemExit(f"PostgreSQL does not start: {started.stdout}{Path(place, 'log').read_text()}")
        yield place
        run("pg_ctl", "stop", "-w", "-m", "fast", "-D", folder)
    finally:
        shutil.rmtree(place)

"""What this machine can do for powercut, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from powercut import _engine
from powercut.errors import PowercutError
from powercut.record.remedies import MORE_ROOM, allow_namespaces, allow_tracing, install, reinstall
from powercut.record.tracers import call_tracer, why_no_memory_tool


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at.

    Attributes:
        needed: nothing works without it.
        meanwhile: what is done without it.
        command: what closes the gap.
    """

    name: str
    fine: bool
    needed: bool
    text: str
    meanwhile: str = ""
    command: str = ""


def examine() -> Iterator[Examined]:
    """Look at everything that powercut relies on."""
    yield _tracing()
    possible, why = _engine.can_enter_view()
    yield Examined(
        "private views",
        possible,
        False,
        "programs see images at the folder's own path" if possible else f"not allowed here: {why}",
        "Until then, paths in arguments are substituted.",
        allow_namespaces(),
    )
    missing = why_no_memory_tool()
    yield Examined(
        "stores into mapped files",
        not missing,
        False,
        missing or "programs can be run inside Valgrind",
        "Until then, programs that map files are tested without their stores.",
        f"{install('valgrind')} && {reinstall()}",
    )
    found = shutil.which("addr2line")
    yield Examined(
        "line numbers of C and C++",
        found is not None,
        False,
        "addr2line is there" if found else "addr2line is missing: functions are named, lines are not",
        "",
        install("binutils"),
    )
    free = _free_memory_disk()
    yield Examined("room for images", free > 1 << 28, False, f"{free >> 20} MB in memory", "", MORE_ROOM)
    yield Examined("cores", True, False, f"{os.cpu_count()} checks run at the same time")


def _tracing() -> Examined:
    """Record a real program that writes one file."""
    name = "recording"
    try:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            data.mkdir()
            argv = [str(call_tracer()), "--output", f"{folder}/trace", "--dir", str(data), "--cwd", str(data)]
            done = subprocess.run([*argv, "--", "/bin/sh", "-c", "echo x > f"], capture_output=True, timeout=20)
        text = done.stderr.decode("utf-8", "replace").strip()
    except (PowercutError, OSError, subprocess.TimeoutExpired) as error:
        return Examined(name, False, True, str(error), "", reinstall())
    if done.returncode:
        return Examined(name, False, True, text, "ptrace and seccomp must be allowed.", allow_tracing())
    return Examined(name, True, True, "programs can be traced")


def _free_memory_disk() -> int:
    path = Path("/dev/shm")
    return shutil.disk_usage(path).free if path.is_dir() else 0

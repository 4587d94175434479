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
from powercut.native_programs import call_tracer, memory_tool, why_no_memory_tool
from powercut.record.remedies import MORE_ROOM, allow_namespaces, allow_tracing, install, rebuild, reinstall
from powercut.trace.lines import line_reader

_LONGEST = 20  # seconds, for a program that takes none


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
    yield _memory_tracing()
    yield _lines()
    compiler = shutil.which("cc")
    yield Examined(
        "building programs with assertions",
        compiler is not None,
        False,
        "there is a C compiler" if compiler else "there is no C compiler: powercut cc has nothing to call",
        "Nothing else needs one.",
        install("gcc"),
    )
    free = _free_memory_disk()
    yield Examined("room for images", free > 1 << 28, False, f"{free >> 20} MB in memory", "", MORE_ROOM)
    yield Examined("cores", True, False, f"{os.cpu_count()} checks run at the same time")


def _lines() -> Examined:
    name = "line numbers of C and C++"
    if line_reader() is None:
        text = "this powercut was built without libdw: functions are named, lines are not"
        return Examined(name, False, False, text, "", f"{install('libdw-dev')} && {rebuild()}")
    return Examined(name, True, False, "debug information can be read")


def _tracing() -> Examined:
    name = "recording"
    try:
        done = _record([])
    except (PowercutError, OSError, subprocess.TimeoutExpired) as error:
        return Examined(name, False, True, str(error), "", reinstall())
    if done.returncode:
        return Examined(name, False, True, _words(done), "ptrace and seccomp must be allowed.", allow_tracing())
    return Examined(name, True, True, "programs can be traced")


def _memory_tracing() -> Examined:
    """The memory tracer has Valgrind inside, so nothing of it need be installed; yet its core may not start here."""
    why, close = why_no_memory_tool(), f"{install('valgrind')} && {rebuild()}"
    if tool := memory_tool():
        try:
            done = _record(["--memory-tool", str(tool)])
            why = _words(done) if done.returncode else ""
        except (PowercutError, OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
    name, meanwhile = "stores into mapped files", "Until then, programs that map files are tested without their stores."
    return Examined(name, not why, False, why or "programs can be run inside Valgrind", meanwhile, close)


def _record(options: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Record a real program that writes one file."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        argv = [str(call_tracer()), "--output", f"{folder}/trace", "--dir", str(data), "--cwd", str(data), *options]
        return subprocess.run([*argv, "--", "/bin/sh", "-c", "echo x > f"], capture_output=True, timeout=_LONGEST)


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip() or f"the tracer ended with exit status {done.returncode}"


def _free_memory_disk() -> int:
    path = Path("/dev/shm")
    return shutil.disk_usage(path).free if path.is_dir() else 0

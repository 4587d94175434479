"""What works on this machine, why something does not, and the command that fixes it.

Each thing is tried, and each failure names its own cause: what else is broken is not blamed for it, nor it for others.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from powercut import _engine
from powercut.errors import PowercutError
from powercut.image.scratch import available_memory
from powercut.native_programs import call_tracer, memory_tool, why_no_memory_tool
from powercut.quick_dataclass import dataclass
from powercut.record.recorder import NOT_EXECUTABLE, NOT_FOUND
from powercut.record.remedies import MORE_ROOM, allow_namespaces, allow_tracing, install, rebuild, reinstall
from powercut.trace.lines import line_reader

_LONGEST = 20  # seconds, for a program that takes none
_ROOM = 1 << 28  # bytes of memory that are enough for the images of a small data folder
_SHELL = "/bin/sh"
_TRY_AGAIN = "powercut doctor"
_OTHER_TMP = "TMPDIR=/var/tmp powercut doctor"
_MEMORY_DISK = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was tried.

    Attributes:
        needed: nothing works without it.
        text: what works, or why it does not.
        meanwhile: what powercut does without it.
        command: the command that fixes it.
    """

    name: str
    fine: bool
    needed: bool
    text: str
    meanwhile: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a program could not be recorded, and the command that fixes it."""

    why: str
    command: str


def examine() -> Iterator[Examined]:
    """Try everything that powercut relies on."""
    failure = _try_recording([])
    text = failure.why if failure else "programs can be traced"
    yield Examined("recording", failure is None, True, text, "", failure.command if failure else "")
    possible, why = _engine.can_enter_view()
    yield Examined(
        "private mounts",
        possible,
        False,
        "programs see copies at the folder's own path" if possible else why,
        "Until then, powercut replaces the folder's path in arguments.",
        allow_namespaces(),
    )
    yield _memory_tracing(failure)
    yield _lines()
    yield _building()
    yield _room(in_view=possible)
    yield Examined("cores", True, False, f"{os.cpu_count()} checks run in parallel")


def _try_recording(options: list[str]) -> _Failure | None:
    """Record a real program that writes one file; None if that works."""
    try:
        tracer = call_tracer()
    except PowercutError as error:
        return _Failure(error.message.rstrip("."), reinstall())
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _recorded(tracer, Path(folder), options)
    except OSError as error:
        return _Failure(f"cannot write to the folder for temporary files: {error.strerror}", _OTHER_TMP)


def _recorded(tracer: Path, folder: Path, options: list[str]) -> _Failure | None:
    data = folder / "data"
    data.mkdir()
    argv = [str(tracer), "--output", f"{folder}/trace", "--dir", str(data), "--cwd", str(data), *options]
    try:
        done = subprocess.run([*argv, "--", _SHELL, "-c", "echo x > f"], capture_output=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        return _Failure(f"recording {_SHELL} took more than {_LONGEST} s; the machine may be overloaded", _TRY_AGAIN)
    except OSError as error:
        return _Failure(f"cannot run the tracer {tracer}: {error.strerror}", reinstall())
    return _explained(done) if done.returncode else None


def _explained(done: subprocess.CompletedProcess[bytes]) -> _Failure:
    """Why the tracer failed, from what it printed and how it ended."""
    words = done.stderr.decode("utf-8", "replace").strip().removeprefix("powercut-ptrace: ")
    if done.returncode in (NOT_FOUND, NOT_EXECUTABLE):
        return _Failure(f"cannot run {words or _SHELL}", install("dash"))
    if "cannot write" in words or "cannot open" in words:
        return _Failure(words, _OTHER_TMP)
    if "cannot trace" in words or "seccomp" in words or done.returncode == -signal.SIGSYS:
        return _Failure(f"ptrace or seccomp is not allowed here: {words or 'the tracer was killed'}", allow_tracing())
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
    return _Failure(f"the tracer failed: {words or how}", reinstall())


def _memory_tracing(recording: _Failure | None) -> Examined:
    """The memory tracer contains Valgrind, so nothing of it need be installed; yet its core may not start here."""
    tool, failure = memory_tool(), None
    if tool is None:
        failure = _Failure(why_no_memory_tool(), f"{install('valgrind')} && {rebuild()}")
    elif recording is not None:
        failure = _Failure("it needs recording, which does not work (see above)", recording.command)
    elif not os.access(tool, os.X_OK):
        failure = _Failure(f"the memory tracer {tool} is not executable", reinstall())
    elif inside := _try_recording(["--memory-tool", str(tool)]):
        failure = _Failure(
            f"the memory tracer does not run here: {inside.why}", f"{install('valgrind')} && {rebuild()}"
        )
    name, meanwhile = "stores into mapped files", "Until then, powercut does not see stores into mapped files."
    text = failure.why if failure else "programs can run inside Valgrind"
    return Examined(name, failure is None, False, text, meanwhile, failure.command if failure else "")


def _lines() -> Examined:
    name, meanwhile = "line numbers of C and C++", "Until then, powercut names functions, but not lines."
    reader = line_reader()
    if reader is None:
        text = "powercut was built without libdw"
        return Examined(name, False, False, text, meanwhile, f"{install('libdw-dev')} && {rebuild()}")
    try:
        done = subprocess.run([reader, reader], input=b"", capture_output=True, timeout=_LONGEST)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = error.strerror if isinstance(error, OSError) else "it does not end"
        return Examined(name, False, False, f"cannot run {reader}: {why}", meanwhile, reinstall())
    if done.returncode in (NOT_FOUND, NOT_EXECUTABLE) or done.returncode < 0:
        words = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
        return Examined(name, False, False, f"cannot run {reader}: {words}", meanwhile, reinstall())
    return Examined(name, True, False, "debug information can be read")


def _building() -> Examined:
    """`powercut cc` calls the user's compiler, and an assembler."""
    name, meanwhile = "building programs with assertions", "Only powercut cc and powercut c++ need it."
    compiler = (shlex.split(os.environ.get("POWERCUT_CC", "")) or ["cc"])[0]
    if shutil.which(compiler) is None:
        return Examined(name, False, False, f"cannot find the C compiler {compiler}", meanwhile, install("gcc"))
    if shutil.which("as") is None:
        return Examined(name, False, False, "cannot find the assembler as", meanwhile, install("binutils"))
    return Examined(name, True, False, "a C compiler and an assembler are installed")


def _room(*, in_view: bool) -> Examined:
    """Images are in memory of their own if there are private mounts, and otherwise in /dev/shm."""
    name, meanwhile = "space for crash images", "Until then, powercut keeps the images of larger folders on disk."
    if not in_view and not _MEMORY_DISK.is_dir():
        return Examined(name, False, False, f"{_MEMORY_DISK} does not exist", meanwhile, MORE_ROOM)
    free, where = (available_memory(), "memory") if in_view else (_free_memory_disk(), str(_MEMORY_DISK))
    if free <= _ROOM:
        return Examined(name, False, False, f"only {free >> 20} MB are free in {where}", meanwhile, MORE_ROOM)
    return Examined(name, True, False, f"{free >> 20} MB are free in {where}")


def _free_memory_disk() -> int:
    return shutil.disk_usage(_MEMORY_DISK).free

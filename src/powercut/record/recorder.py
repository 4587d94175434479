"""Recording: run a program once, on a private copy of its data folder, under the system-call tracer.

Before: a command (or a Python function) and a data folder. After: a trace file; the user's folder is as it was. Where
the kernel allows it the program sees the copy at the folder's own path; otherwise paths in its arguments are
substituted, and that is said.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure, UsageError
from powercut.image.scratch import ScratchPolicy, make_scratch
from powercut.image.snapshot_copy import copy_tree
from powercut.oracle.command import substitute_path
from powercut.trace.reader import Trace

TRACER_FAILED, NOT_EXECUTABLE, NOT_FOUND, INTERRUPTED = 125, 126, 127, 130
_PR_SET_PTRACER, _PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)
_TAIL = 2000  # characters of the program's last words


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """How to record.

    Attributes:
        folder: the data folder, absolute and without symbolic links.
        cwd: where the program is started.
        output: the trace file; what the program prints goes beside it.
        namespaces: show the copy at the folder's own path.
        scratch: where the copy may live, None for the best place.
        skip: folders that are not part of the data (saved runs).
    """

    folder: Path
    cwd: Path
    output: Path
    namespaces: bool = True
    scratch: Path | None = None
    stacks: bool = True
    skip: tuple[Path, ...] = ()


def tracer_path() -> Path:
    """The system-call tracer, which is installed beside the extension."""
    path = Path(_engine.__file__).parent / "_native" / "powercut-ptrace"
    if not path.exists():
        raise EnvironmentFailure("no-tracer", f"the tracer {path} is missing.", "Install powercut again.")
    return path


def find_program(name: str, cwd: Path) -> str:
    """Where a program is, as the shell would find it."""
    found = shutil.which(name if os.sep not in name else str(cwd / name))
    if found is None:
        raise EnvironmentFailure("no-such-program", f"there is no program {name!r} to run.", "Is it in your PATH?")
    return name if os.sep in name else found


def record_command(command: Sequence[str], options: RecordOptions) -> Trace:
    """Record a command."""
    program = find_program(command[0], options.cwd)
    with _Copy(options) as copy:
        argv = [program, *command[1:]]
        folder, cwd, view = options.folder, options.cwd, ["--view", str(copy.path)]
        if not options.namespaces:
            argv = substitute_path(argv, options.folder, copy.path)
            folder, view = copy.path, []
            cwd = Path(substitute_path([str(cwd)], options.folder, copy.path)[0])
        stdout, stderr = (_beside(options.output, ending) for ending in ("out", "err"))
        more = ["--cwd", str(cwd), "--stdout", str(stdout), "--stderr", str(stderr), *view]
        status = _run_tracer([*_tracer_options(options, folder), *more, "--", *argv])
    if status in (NOT_EXECUTABLE, NOT_FOUND):
        raise EnvironmentFailure("no-such-program", f"{command[0]!r} cannot be run.", "Is it an executable program?")
    trace = _finished_trace(options, status)
    _check_ending(trace, " ".join(command[:3]), stderr)
    return trace


def record_callable(function: Callable[[], object], options: RecordOptions) -> Trace:
    """Record a Python function in a forked child."""
    with _Copy(options) as copy:
        stderr = _beside(options.output, "err")
        child = os.fork()
        if child == 0:
            _be_recorded(function, options, copy.path)
        os.waitpid(child, os.WUNTRACED)
        folder = options.folder if options.namespaces else copy.path
        status = _run_tracer([*_tracer_options(options, folder), "--attach", str(child)])
        with suppress(ChildProcessError):  # the tracer may have seen it end
            os.waitpid(child, 0)
    trace = _finished_trace(options, status)
    _check_ending(trace, getattr(function, "__name__", "the function"), stderr)
    return trace


def _be_recorded(function: Callable[[], object], options: RecordOptions, copy: Path) -> None:
    """The child's life: wait for the tracer, run the function, never return."""
    status = 1
    try:
        for number, ending in ((1, "out"), (2, "err")):
            target = os.open(
                _beside(options.output, ending), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644
            )
            os.dup2(target, number)
        if options.namespaces:
            _engine.enter_view(str(copy), str(options.folder))
        os.chdir(options.folder if options.namespaces else copy)
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _PTRACER_ANY, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        _engine.install_filter()
        function()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


class _Copy:
    """A private copy of the data folder, for the time of the recording."""

    def __init__(self, options: RecordOptions) -> None:
        self._options = options

    def __enter__(self) -> _Copy:
        options = self._options
        if not options.folder.is_dir():
            raise UsageError("no-such-folder", f"there is no data folder {options.folder}.", "Name it with --dir.")
        need = sum(f.lstat().st_blocks * 512 for f in options.folder.rglob("*"))
        policy = ScratchPolicy(folder=options.scratch, need=need)
        self._scratch = make_scratch(policy, options.folder, 1, namespaces=False)
        self.path = self._scratch.path / "data"
        skipped = {str(path) for path in options.skip}
        copy_tree(options.folder, self.path, skip=lambda path: str(path) in skipped)
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.remove()


def _tracer_options(options: RecordOptions, folder: Path) -> list[str]:
    stacks = [] if options.stacks else ["--no-stacks"]
    return [str(tracer_path()), "--output", str(options.output), "--dir", str(folder), *stacks]


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(f"{output.name}.{ending}")


def _run_tracer(argv: list[str]) -> int:
    """Run the tracer to its end; Ctrl-C reaches it, too, and it ends the program."""
    # Block-buffered prints would reach the outside only at exit; as on a terminal, each line counts when it is printed.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _, errors = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    if process.returncode == TRACER_FAILED or process.returncode < 0:
        text = errors.decode("utf-8", "replace").strip() or f"it ended with status {process.returncode}"
        raise EnvironmentFailure("recording-failed", f"the tracer failed: {text}.", "powercut doctor tells more.")
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    return process.returncode


def _finished_trace(options: RecordOptions, status: int) -> Trace:
    trace = Trace.open(options.output)
    if not options.namespaces:  # what was recorded in the copy stands for the user's folder
        trace.meta["dir"] = os.fsencode(options.folder)
    return trace


def _check_ending(trace: Trace, name: str, stderr: Path) -> None:
    """A workload that fails has nothing to say about crashes."""
    how, _, number = trace.meta.get("exit", b"unknown").decode().partition(" ")
    if how == "exited" and number == "0":
        return
    words = {"exited": f"ended with exit status {number}", "signaled": f"was killed by signal {number}"}
    last = stderr.read_text("utf-8", "replace")[-_TAIL:].strip() if stderr.exists() else ""
    said = f" Its last words:\n{last}" if last else ""
    raise EnvironmentFailure(
        "workload-failed",
        f"the workload {name!r} {words.get(how, 'did not end')}.",
        f"It must succeed when nothing goes wrong.{said}",
    )

"""Recording: run a program once, on a private copy of its data folder, under a tracer.

Before: a command (or a Python function) and a data folder. After: a trace file; the user's folder is unchanged. Where
the kernel allows it, the program sees the copy at the folder's own path. Otherwise, powercut replaces the path in its
arguments and prints a warning.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Protocol

from powercut import _engine
from powercut.errors import EnvironmentFailure
from powercut.image.survey import Survey
from powercut.interrupts import pass_on
from powercut.native_programs import call_tracer
from powercut.programs import find_program
from powercut.quick_dataclass import dataclass
from powercut.record.private_copy import PrivateCopy, led_to_copy, require_folder
from powercut.record.private_layers import PrivateLayers, is_worth_it
from powercut.record.relabel import add_meta
from powercut.record.touched import add_touched
from powercut.record.tracers import MapsFilesError, mapped_files
from powercut.record.verify import unexplained, unexplained_in_layers
from powercut.runtimes.agents.python import powercut_agent
from powercut.runtimes.known import variables
from powercut.trace.reader import Trace

STUCK, MAPPED, TRACER_FAILED, NOT_EXECUTABLE, NOT_FOUND, INTERRUPTED = 123, 124, 125, 126, 127, 130
HUNG = -1  # no status of a tracer: the program was ended when its time was over
_PR_SET_PTRACER, _PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)
_TAIL, _TAIL_LINES = 2000, 20  # bytes and lines of the program's last words
_GLANCE = 0.1  # seconds between two looks at whether to stop
_PATIENCE = 5.0  # seconds in which the tracer must have ended the program


_STUCK = (
    "the program moves a folder, which this kernel allows only in a copy of the data folder: restarting it with a copy"
)


def trace_full(trace: Path) -> EnvironmentFailure:
    """The trace outgrew its disk: the program was ended, and the trace holds what came before."""
    what = "no space left for the trace, so powercut ended the program."
    hint = f"{trace} holds what was recorded before; powercut explore tests it. Or put the trace elsewhere."
    return EnvironmentFailure("trace-full", what, hint)


class Companion(Protocol):
    """Something that goes on beside the program."""

    def accompany(self, tracer: int) -> None:
        """The tracer, whose process number this is, runs the program."""

    def leave(self) -> None:
        """The program has ended."""


class LayersError(Exception):
    """The program did what layers over its folder cannot do, and the folder itself can."""


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
        stop_at_mapping: raise `MapsFilesError` as soon as the program maps a file of the folder for writing.
        memory_tool: the Valgrind tool, if stores into mapped files shall be seen, too.
        persistent_memory: programs that use libpmem shall take mapped files for persistent memory.
        content: what the folder holds when the program starts, instead of its own content.
        stdin: a file that the program reads as standard input, None for an empty one.
        limit: seconds after which the program is ended, None for never.
        stop: once it is set, the program is ended as by Ctrl-C.
        boards: files in memory for modes of the memory tracer: a mode's name and a descriptor.
        added: a plan of syncs that the tracer puts in (`added`), None for none.
        companion: what accompanies the program: a client of a server.
        runtimes: put into the environment what makes runtimes of other languages tell lines.
        ignore: patterns of names whose changes are not recorded.
        survey: what the folder holds, if it may be shown without copying it.
        say: tells the user something.
    """

    folder: Path
    cwd: Path
    output: Path
    namespaces: bool = True
    scratch: Path | None = None
    stacks: bool = True
    skip: tuple[Path, ...] = ()
    stop_at_mapping: bool = False
    memory_tool: Path | None = None
    persistent_memory: bool = False
    content: Path | None = None
    stdin: Path | None = None
    limit: float | None = None
    stop: Event | None = None
    boards: tuple[tuple[str, int], ...] = ()
    added: Path | None = None
    companion: Companion | None = None
    runtimes: bool = False
    ignore: tuple[str, ...] = ()
    survey: Survey | None = None
    say: Callable[[str], None] = lambda _: None

    def told(self) -> dict[str, str]:
        """The variables that lead to the agents of runtimes; the memory tracer hears none of them."""
        wanted = self.runtimes and self.stacks and self.memory_tool is None
        return variables(os.environ) if wanted else {}


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace, and what it cannot tell.

    Attributes:
        unexplained: files that the trace, replayed without a crash, would leave other than the program did.
        left_out: fifos, sockets and devices, which the program did not find in its copy.
    """

    trace: Trace
    unexplained: list[str]
    left_out: list[Path]


def record_command(command: Sequence[str], options: RecordOptions) -> Recording:
    """Record a command."""
    try:
        return _record_command(command, options)
    except LayersError:
        options.say(_STUCK)
        return _record_command(command, replace(options, survey=None))


def _record_command(command: Sequence[str], options: RecordOptions) -> Recording:
    with _surroundings(options) as copy:
        trace_command(command, options, copy)
        recording = _finished(options, copy, " ".join(command[:3]))
        put_in = "\0".join(f"{name}={value}" for name, value in options.told().items()).encode(errors="surrogateescape")
        return replace(recording, trace=add_meta(options.output, {"environment": put_in})) if put_in else recording


def trace_command(command: Sequence[str], options: RecordOptions, copy: PrivateCopy | PrivateLayers) -> int:
    """Run a command in a copy under the tracer, whatever becomes of it; the tracer's status, or `HUNG`."""
    argv = [find_program(command[0], options.cwd), *command[1:]]
    printed = printed_files(options)
    cwd, view = options.cwd, copy.view_options()
    if not options.namespaces:
        argv[1:] = [led_to_copy(argument, cwd, options.folder, copy.path) for argument in argv[1:]]
        cwd, view = Path(led_to_copy(str(cwd), cwd, options.folder, copy.path)), []
    more = ["--cwd", str(cwd), "--stdout", str(printed[0]), "--stderr", str(printed[1]), *view]
    if options.stop_at_mapping:
        more += ["--stop-at-mapping"]
    if options.memory_tool is not None:
        more += ["--memory-tool", str(options.memory_tool)]
    pmem = {"PMEM_IS_PMEM_FORCE": "1"} if options.persistent_memory else {}
    for name, descriptor in options.boards:
        more += ["--board", f"{name}={descriptor}"]
    status = _run_tracer([*_tracer_options(options, copy), *more, "--", *argv], cwd, pmem, options)
    if status == MAPPED:
        raise MapsFilesError(mapped_files(_recorded(options, copy)))
    if status in (NOT_EXECUTABLE, NOT_FOUND):
        hint = "Does the interpreter in its first line exist, and is the program built for this machine?"
        raise EnvironmentFailure("not-executable", f"cannot run {command[0]!r}.", hint)
    return status


def record_callable(function: Callable[[], object], options: RecordOptions) -> Recording:
    """Record a Python function in a forked child."""
    try:
        return _record_callable(function, options)
    except LayersError:
        options.say(_STUCK)
        return _record_callable(function, replace(options, survey=None))


def _record_callable(function: Callable[[], object], options: RecordOptions) -> Recording:
    printed = printed_files(options)
    with _surroundings(options) as copy:
        child = os.fork()
        if child == 0:
            _be_recorded(function, options, copy)
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise EnvironmentFailure("recording-failed", "cannot start the function.", _last_words(printed))
        _run_tracer([*_tracer_options(options, copy), *copy.attach_options(), "--attach", str(child)], options.cwd)
        with suppress(ChildProcessError):  # the tracer may have seen it end
            os.waitpid(child, 0)
        return _finished(options, copy, getattr(function, "__name__", "the function"))


def _be_recorded(function: Callable[[], object], options: RecordOptions, copy: PrivateCopy | PrivateLayers) -> None:
    """The child's life: wait for the tracer, run the function, never return."""
    status = 1
    try:
        for number, ending in ((1, "out"), (2, "err")):
            target = os.open(
                _beside(options.output, ending), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644
            )
            os.dup2(target, number)
        # Whoever called us may have put something else in their place; as on a terminal, each line counts at once.
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        if options.namespaces:
            copy.enter()
        os.chdir(options.folder if options.namespaces else copy.path)
        os.setsid()  # signals that it sends to its group are its own
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _PTRACER_ANY, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        _engine.install_filter()
        if options.told():
            powercut_agent.start()
        function()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


@contextmanager
def _surroundings(options: RecordOptions) -> Iterator[PrivateCopy | PrivateLayers]:
    """What the program runs in: layers over the folder where they are possible and worth it, or else a copy."""
    require_folder(options.folder)
    if options.survey is not None and is_worth_it(options.survey):
        with PrivateLayers(options.survey, options.scratch) as layers:
            why_not = layers.why_not()
            if not why_not:
                yield layers
                return
        options.say(f"the data folder is copied, since it cannot be shown without a copy: {why_not}")
    with private_copy(options) as copy:
        yield copy


def private_copy(options: RecordOptions) -> PrivateCopy:
    """The copy that a program runs in."""
    ours = (options.output, *printed_files(options))
    return PrivateCopy(options.folder, options.scratch, (*options.skip, *ours), options.namespaces, options.content)


def printed_files(options: RecordOptions) -> list[Path]:
    """Where the program's standard output and error go."""
    return [_beside(options.output, ending) for ending in ("out", "err")]


def _tracer_options(options: RecordOptions, copy: PrivateCopy | PrivateLayers) -> list[str]:
    """What the tracer must know of the folders. Without a view it cannot tell by itself whose copy it looks at."""
    folder, original = options.folder, []
    if not options.namespaces:
        folder, original = copy.path, ["--original", str(options.folder)]
    more = [] if options.stacks else ["--no-stacks"]
    more += [word for pattern in options.ignore for word in ("--ignore", pattern)]
    more += [] if options.added is None else ["--added", str(options.added)]
    return [str(call_tracer()), "--output", str(options.output), "--dir", str(folder), *original, *more]


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(f"{output.name}.{ending}")


def _run_tracer(
    argv: list[str],
    cwd: Path,
    given: Mapping[str, str] | None = None,
    options: RecordOptions | None = None,
) -> int:
    """Run the tracer to its end; Ctrl-C reaches it, too, and it ends the program, as we do when the limit is over."""
    # Block-buffered prints would reach the outside only at exit; as on a terminal, each line counts when it is printed.
    told = options.told() if options else {}
    environment = {**(given or {}), **os.environ, "PYTHONUNBUFFERED": "1", "PWD": str(cwd), **told}
    mortal = ["--parent", str(os.getpid())]  # even if we are killed, the program does not go on
    with open((options and options.stdin) or os.devnull, "rb") as stdin:
        boards = [descriptor for _, descriptor in options.boards] if options else []
        process = subprocess.Popen(
            [argv[0], *mortal, *argv[1:]], env=environment, stdin=stdin, stderr=subprocess.PIPE, pass_fds=boards
        )
    companion = options.companion if options else None
    try:
        pass_on()  # an interrupt that came while Popen forked may be lost
        if companion is not None:
            companion.accompany(process.pid)
        errors = _wait(process, options.limit if options else None, options.stop if options else None)
    except BaseException:
        _end(process)
        raise
    finally:
        if companion is not None:
            companion.leave()
    if errors is None:
        _end(process)
        return HUNG
    pass_on()
    if process.returncode == TRACER_FAILED or process.returncode < 0:
        text = errors.decode("utf-8", "replace").strip() or _ending_of(process.returncode)
        if "cannot write" in text and os.strerror(errno.ENOSPC) in text:
            raise trace_full(Path(argv[argv.index("--output") + 1]))
        if os.strerror(errno.EFBIG) in text:
            what = "a limit on the size of files (ulimit -f) is too small for the trace"
            raise EnvironmentFailure("recording-failed", f"{what}: {text}.", "Start powercut with a larger limit.")
        raise EnvironmentFailure("recording-failed", f"the tracer failed: {text}.", "Run powercut doctor.")
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode == STUCK:
        raise LayersError
    return process.returncode


def _wait(process: subprocess.Popen[bytes], limit: float | None, stop: Event | None) -> bytes | None:
    """Wait for the tracer; what it said on standard error, None if the limit was over first."""
    if stop is None:
        try:
            return process.communicate(timeout=limit)[1]
        except subprocess.TimeoutExpired:
            return None
    deadline = math.inf if limit is None else time.monotonic() + limit
    while time.monotonic() < deadline:
        if stop.is_set():
            raise KeyboardInterrupt
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GLANCE)[1]
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the tracer, and with it the program, which never outlives it."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_PATIENCE)
    finally:
        process.kill()
        process.wait()


def _recorded(options: RecordOptions, copy: PrivateCopy | PrivateLayers) -> Trace:
    """The trace, whole."""
    return add_touched(options.output, copy) if isinstance(copy, PrivateLayers) else Trace.open(options.output)


def _finished(options: RecordOptions, copy: PrivateCopy | PrivateLayers, name: str) -> Recording:
    """The recording of a program that ended well; any other has nothing to say about crashes."""
    copy.check_original(options.output.with_name(f"{options.output.name}.before"))
    trace = _recorded(options, copy)
    how, _, number = trace.meta.get("exit", b"unknown").decode("ascii", "replace").partition(" ")
    if (how, number) != ("exited", "0"):
        said = _last_words(printed_files(options)) + "".join(f"\nNote of the tracer: {note}." for note in trace.notes())
        raise _workload_failure(name, _ending(how, number), said, copy.is_full())
    if not options.namespaces:  # what was recorded in the copy stands for the user's folder
        trace = add_meta(options.output, {"dir": os.fsencode(options.folder), "copy": os.fsencode(copy.path)})
    if isinstance(copy, PrivateLayers):
        return Recording(trace, unexplained_in_layers(trace, copy), copy.left_out)
    return Recording(trace, unexplained(trace, copy.path, options.ignore), copy.left_out)


def _workload_failure(name: str, ending: str, said: str, full: bool) -> EnvironmentFailure:
    if full:
        what = f"the program {name!r} {ending} when no space was left for its files."
        return EnvironmentFailure("scratch-full", what, f"Choose a folder with more space with --scratch DIR.{said}")
    what = f"the program {name!r} {ending}."
    return EnvironmentFailure("workload-failed", what, f"It must exit with 0 when there is no power cut.{said}")


def _ending_of(status: int) -> str:
    """How the tracer ended, if it said nothing."""
    return f"exit status {status}" if status >= 0 else f"signal {-status} ({signal.strsignal(-status)})"


def _ending(how: str, number: str) -> str:
    if how == "exited":
        return f"exited with status {number}"
    if how == "signaled":
        return f"was killed by signal {number} ({signal.strsignal(int(number))})"
    return "did not end"


def _last_words(printed: Sequence[Path]) -> str:
    """The last output of the program on standard error, or else on standard output."""
    for path in reversed(printed):
        with suppress(FileNotFoundError), open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()[-_TAIL_LINES:]
            if lines:
                return " Its last output:\n" + "\n".join(lines)
    return ""
